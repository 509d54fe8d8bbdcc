import { create } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { SystemClock } from '../../../base/clock.js';
import { MessageTransformSchema } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { transformSteps, type TransformOutcome } from './message-transformer.js';
import { Sandbox } from './sandbox.js';
import { requireTransforms } from './transform-check.js';

const sandbox = new Sandbox(new SystemClock());
afterAll(() => sandbox.stop());

const udf = (code: string, functionName = 'f', disabled = false) =>
  create(MessageTransformSchema, {
    disabled,
    transform: { case: 'javascriptUdf', value: { functionName, code } },
  });

async function transform(
  codes: readonly string[],
  data: string | Uint8Array = 'hello',
  attributes: Record<string, string> = { a: '1' },
): Promise<unknown[]> {
  const outcomes = await transformSteps(
    sandbox,
    codes.map((code, i) => udf(code.replaceAll('NAME', `f${i}`), `f${i}`)),
    {
      message: { data: Buffer.from(data), attributes: new Map(Object.entries(attributes)) },
      metadata: { messageId: '7', publishTime: 1_700_000_000_123, orderingKey: 'k' },
    },
  );
  return outcomes.map(shown);
}

function shown(outcome: TransformOutcome): unknown {
  if (outcome.kind !== 'message') return outcome.kind === 'failed' ? outcome.reason : outcome.kind;
  return [String(outcome.message.data), Object.fromEntries(outcome.message.attributes)];
}

const one = async (body: string): Promise<unknown> =>
  (await transform([`function NAME(message, metadata) { ${body} }`]))[0];

describe('a function', () => {
  it('changes data and attributes', async () => {
    expect(await one('message.data += "!"; message.attributes.b = "2"; return message;')).toEqual([
      'hello!',
      { a: '1', b: '2' },
    ]);
    expect(await one('return { data: "x", attributes: {} };')).toEqual(['x', {}]);
    expect(await one('return { data: "x" };')).toEqual(['x', { a: '1' }]);
    expect(await transform(['const NAME = (m) => ({ ...m, data: m.data.toUpperCase() });'])).toEqual([
      ['HELLO', { a: '1' }],
    ]);
  });

  it('sees what is known of the message', async () => {
    expect(await one('return { data: JSON.stringify(metadata), attributes: {} };')).toEqual([
      '{"message_id":"7","publish_time":"2023-11-14T22:13:20Z","ordering_key":"k"}',
      {},
    ]);
  });

  it('filters with null', async () => {
    expect(await one('return null;')).toBe('filtered');
  });

  it('runs in its turn, until one filters or fails', async () => {
    const add = (text: string) => `function NAME(m) { m.data += '${text}'; return m; }`;
    expect(await transform([add('1'), add('2')])).toEqual([
      ['hello1', { a: '1' }],
      ['hello12', { a: '1' }],
    ]);
    expect(await transform([add('1'), 'function NAME() { return null; }', add('3')])).toEqual([
      ['hello1', { a: '1' }],
      'filtered',
    ]);
    expect(await transform(['function NAME() { throw new Error("no"); }', add('2')])).toEqual([
      "JavaScript UDF 'f0': Error: no",
    ]);
  });

  it('is left out when it is disabled', async () => {
    const outcomes = await transformSteps(sandbox, [udf('function f() { return null; }', 'f', true)], {
      message: { data: Buffer.from('x'), attributes: new Map() },
      metadata: { orderingKey: '' },
    });
    expect(outcomes).toEqual([]);
  });

  it.each([
    ['nothing', 'return undefined;', 'must return a message or null'],
    ['text', 'return "x";', 'must return a message or null'],
    ['a list', 'return [];', 'must return a message or null'],
    ['a promise', 'return Promise.resolve(message);', "'data' is a string"],
    ['no data', 'return {};', "'data' is a string"],
    ['data that is no text', 'return { data: 5 };', "'data' is a string"],
    ['attributes that are no map', 'return { data: "x", attributes: [] };', "'attributes' are a map"],
    [
      'an attribute that is no text',
      'return { data: "x", attributes: { a: 1 } };',
      "the attribute 'a' must be a string",
    ],
    ['too long an attribute', 'return { data: "x", attributes: { a: "x".repeat(2000) } };', 'too long'],
    ['a reserved attribute', 'return { data: "x", attributes: { "goog-x": "" } };', 'begins with "goog"'],
    ['an empty message', 'return { data: "", attributes: {} };', 'an empty message'],
    ['what has no JSON', 'const a = {}; a.a = a; return a;', 'circular'],
  ])('fails when it returns %s', async (_, body, reason) => {
    expect(await one(body)).toContain(reason);
  });

  it('fails on data that is no text', async () => {
    expect(await transform(['function NAME(m) { return m; }'], Uint8Array.of(0xff))).toEqual([
      "JavaScript UDF 'f0': the data is no UTF-8 text",
    ]);
  });
});

describe('the sandbox', () => {
  it.each([
    'process',
    'require',
    'module',
    'fetch',
    'setTimeout',
    'console',
    'Buffer',
    'WebAssembly',
    'SharedArrayBuffer',
    'globalThis.constructor.constructor("return process")()',
    'eval("1")',
    'new Function("return 1")()',
    'Object.getPrototypeOf(async () => 1).constructor("return 1")()',
    'this.constructor.constructor("return process")()',
    'message.constructor.constructor("return process")()',
  ])('has no %s', async (what) => {
    expect(await one(`return { data: String(${what}) };`)).toMatch(
      /is not defined|Code generation from strings disallowed|undefined/,
    );
  });

  it('gives no Node object away by what it throws', async () => {
    const probe = (thrown: string) =>
      `try { ${thrown} } catch (e) { return { data: e.constructor.constructor("return process")() }; }`;
    expect(await one(probe('null.x'))).toContain('Code generation');
    expect(await one(probe('(function r() { r(); })()'))).toContain('Code generation');
    const frames = await one(`
      Error.prepareStackTrace = (_, frames) => frames;
      const isOwn = (value) => value === undefined || value === globalThis || value instanceof Object;
      const frames = new Error().stack;
      return { data: String(frames.every((frame) => isOwn(frame.getThis()) && isOwn(frame.getFunction()))), attributes: {} };
    `);
    expect(frames).toEqual(['true', {}]);
  });

  it('stops what runs away, and goes on with the next', async () => {
    const began = performance.now();
    const outcomes = await Promise.all([
      one('for (;;);'),
      one('return message;'),
      one('return { get data() { for (;;); } };'),
      one('throw { toString() { for (;;); } };'),
      one('return message;'),
    ]);
    expect(outcomes).toEqual([
      expect.stringContaining('longer than 500 ms'),
      ['hello', { a: '1' }],
      expect.stringContaining('longer than 500 ms'),
      expect.stringContaining('longer than 500 ms'),
      ['hello', { a: '1' }],
    ]);
    expect(performance.now() - began).toBeGreaterThan(1400);
  });

  it('stops promises that run away', async () => {
    expect(await one('const spin = () => Promise.resolve().then(spin); spin(); return message;')).toContain(
      'longer than 500 ms',
    );
  });

  it('survives what takes all memory', async () => {
    const outcomes = await Promise.all([
      one('const all = []; for (;;) all.push(new Array(10000).fill({}));'),
      one('globalThis.kept = new Uint8Array(200 * 1024 * 1024).fill(1); return message;'),
      one('return message;'),
    ]);
    expect(outcomes[0]).toMatch(/too much memory|longer than 500 ms/);
    expect(outcomes[1]).toMatch(/too much memory|longer than 500 ms|allocation failed/);
    expect(outcomes[2]).toEqual(['hello', { a: '1' }]);
  });

  it('ends with what waits', async () => {
    const ended = new Sandbox(new SystemClock());
    const waiting = ended.run({ fn: { name: 'f', code: 'function f() {}' }, input: undefined });
    await ended.stop();
    expect(await waiting).toEqual({ kind: 'failed', reason: 'the server is shutting down' });
    await expect(ended.run({ fn: { name: 'f', code: '' }, input: undefined })).rejects.toMatchObject({
      kind: 'draining',
    });
  });
});

describe('transforms that are about to be stored', () => {
  it('are looked at', async () => {
    await requireTransforms(sandbox, [udf('function f(m) { return m; }'), udf('const g = (m) => m;', 'g')]);
    await requireTransforms(sandbox, []);
  });

  it.each([
    ['broken code', [udf('function f( {')]],
    ['no such function', [udf('function g() {}')]],
    ['no function', [udf('const f = 1;')]],
    ['a name that is none', [udf('function f() {}', 'f()')]],
    ['no name', [udf('function f() {}', '')]],
    ['a reserved name', [udf('function f() {}', 'class')]],
    ['code that throws', [udf('throw new Error("x"); function f() {}')]],
    ['code that never ends', [udf('for (;;); function f() {}')]],
    ['import', [udf('function f() { return import /* x */ ("node:fs"); }')]],
    ['import.meta', [udf('function f() { return import . meta; }')]],
    ['too much code', [udf(`function f() {} // ${'x'.repeat(21_000)}`)]],
    ['two of a name', [udf('function f() {}'), udf('function f() {}')]],
    ['too many', Array.from({ length: 6 }, (_, i) => udf(`function f${i}() {}`, `f${i}`))],
    ['none at all', [create(MessageTransformSchema)]],
    ['another kind', [create(MessageTransformSchema, { transform: { case: 'aiInference', value: {} } })]],
  ])('are refused with %s', async (_, transforms) => {
    await expect(requireTransforms(sandbox, transforms)).rejects.toMatchObject({ kind: 'invalid-argument' });
  });
});
