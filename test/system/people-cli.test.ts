import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/app/cli/program.js';
import { SystemClock } from '../../src/base/clock.js';
import { temporaryFolder } from '../support/folder.js';
import { programArguments, spawnBroker, type BrokerProcess } from '../support/process.js';

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

const folder = temporaryFolder();
let broker: BrokerProcess;
beforeAll(async () => {
  broker = await spawnBroker({ folder: join(folder.path, 'store') });
});
afterAll(async () => {
  await broker.kill('SIGTERM');
  folder.remove();
});

/** Runs the program in this process: as the real one does, and quicker. */
async function quick(args: readonly string[], input = ''): Promise<Ran> {
  let out = '';
  let error = '';
  const code = await runProgram(args, {
    environment: { POLYMQ_API: `http://127.0.0.1:${broker.port('api')}` },
    out: (text) => (out += text),
    error: (text) => (error += text),
    input: () => Readable.from([Buffer.from(input)]),
    clock: new SystemClock(),
  });
  return { code, out, error };
}

/** Runs the real program against the broker. */
function polymq(args: readonly string[], options: { input?: string; until?: RegExp } = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...programArguments(), ...args], {
      env: { ...process.env, POLYMQ_API: `http://127.0.0.1:${broker.port('api')}` },
    });
    let out = '';
    let error = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (options.until?.test(out) === true) child.kill('SIGINT');
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text));
    child.once('close', (code) => resolve({ code, out, error }));
    child.stdin.end(options.input ?? '');
  });
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('polymq for people', () => {
  it('sends, looks and receives', async () => {
    expect(await polymq(['send', 'people.jobs', 'hello'])).toEqual({
      code: 0,
      out: '1 message sent to people.jobs\n',
      error: '',
    });
    await quick(['send', 'people.jobs', '--tag', 'a=1', '--tag', 'b=x=y', '--metadata', 'm', 'second']);
    const peeked = await quick(['peek', 'people.jobs']);
    expect(lines(peeked.out)[0]).toMatch(/^SEQUENCE {2}ENQUEUED +RECEIVED {2}ID +BODY$/);
    expect(lines(peeked.out)[1]).toMatch(/^ +1 {2}\d{4}-.*Z +0 {2}\S+ +hello$/);
    const all = await quick(['receive', 'people.jobs', '--max', '5', '--json']);
    expect(lines(all.out).map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { body: 'hello', tags: {} },
      { body: 'second', tags: { a: '1', b: 'x=y' }, metadata: 'm', sequence: 2 },
    ]);
    expect(await polymq(['receive', 'people.jobs'])).toEqual({ code: 3, out: '', error: '' });
  });

  it('sends each line of standard input, lists, moves and purges', async () => {
    const input = Array.from({ length: 2500 }, (_, i) => `line ${i}`).join('\n');
    expect((await polymq(['send', '--lines', 'people.many'], { input })).out).toBe(
      '2500 messages sent to people.many\n',
    );
    await quick(['send', 'people.other', 'x']);
    const table = await quick(['queues', 'list', 'people.']);
    expect(table.out).toMatch(/^QUEUE +READY {2}DELAYED {2}IN FLIGHT {2}CONSUMERS {2}SIZE\n/);
    expect(table.out).toMatch(/people\.many +2500 +0 +0 +0 {2}\d/);
    const json = await quick(['queues', 'list', 'people.many', '--json']);
    expect(JSON.parse(json.out)).toMatchObject({ channel: 'people.many', ready: 2500 });

    expect((await quick(['move', 'people.many', 'people.other', '--max', '1200'])).out).toBe(
      '1200 messages moved to people.other\n',
    );
    expect((await quick(['move', 'people.many', 'people.other', '--json'])).out).toBe('{"moved":1300}\n');
    const unsure = await quick(['purge', 'people.other']);
    expect(unsure).toMatchObject({
      code: 2,
      error: 'polymq: 2501 messages of people.other would be dropped; add --yes to do it\n',
    });
    expect((await quick(['purge', 'people.other', '--yes'])).out).toBe('2501 messages dropped\n');
  });

  it('tails a log, and follows it', async () => {
    const input = 'one\ntwo\nthree\n';
    await quick(['send', '--to', 'log', '--lines', 'people.log'], input);
    const end = await quick(['tail', 'people.log', '-n', '2']);
    expect(lines(end.out).map((line) => line.replace(/^\S+ {2}/, ''))).toEqual(['2  two', '3  three']);
    const following = polymq(['tail', 'people.log', '--from', '3', '--follow'], { until: /four/ });
    await quick(['send', '--to', 'log', 'people.log', 'four']);
    expect(lines((await following).out).map((line) => line.replace(/^\S+ {2}/, ''))).toEqual([
      '3  three',
      '4  four',
    ]);
    const logs = await quick(['logs', 'list', 'people.']);
    expect(logs.out).toMatch(/people\.log +4 +1 +4 +0 {2}/);
  });

  it('lists channels of every kind, and gives one two names', async () => {
    await quick(['send', '--to', 'events', 'people.live', 'x']);
    const { out } = await quick(['channels', 'list', 'people.', '--json']);
    const kinds = lines(out).map((line) => JSON.parse(line) as { kind: string; channel: string });
    expect(kinds).toContainEqual(expect.objectContaining({ kind: 'log', channel: 'people.log' }));
    expect(kinds).toContainEqual(expect.objectContaining({ kind: 'queue', channel: 'people.jobs' }));
    expect(kinds).toContainEqual(expect.objectContaining({ kind: 'events', channel: 'people.live' }));
    expect((await quick(['alias', 'add', 'people.alias', 'people.jobs'])).code).toBe(0);
    await quick(['send', 'people.alias', 'by another name']);
    expect((await quick(['receive', 'people.jobs'])).out).toBe('by another name\n');
    expect((await quick(['alias', 'list'])).out).toMatch(/people\.alias {2}people\.jobs/);
  });

  it('sends any bytes, and shows them as base64', async () => {
    const file = join(folder.path, 'bytes');
    writeFileSync(file, Buffer.from([0xff, 0x00, 0x80]));
    await quick(['send', 'people.bytes', '--file', file]);
    const received = await quick(['receive', 'people.bytes', '--json']);
    expect(JSON.parse(received.out)).toMatchObject({ body: '/wCA', bodyEncoding: 'base64', bytes: 3 });
  });

  it('says what is wrong, with an exit code', async () => {
    expect(await quick(['peek', 'people.nowhere'])).toEqual({
      code: 1,
      out: '',
      error: 'polymq: there is no queue people.nowhere\n',
    });
    expect(await quick(['send', 'not a name', 'x'])).toMatchObject({
      code: 1,
      error: expect.stringContaining('white space'),
    });
    expect((await quick(['receive', 'q', '--max', 'many'])).code).toBe(2);
    expect((await quick(['queues', 'list', '--api', 'http://127.0.0.1:1'])).error).toMatch(
      /^polymq: no answer from http:\/\/127\.0\.0\.1:1: /,
    );
    expect((await quick(['queues', 'list', '--api', 'ftp://x'])).code).toBe(2);
  });
});
