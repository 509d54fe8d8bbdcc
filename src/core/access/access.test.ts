import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import { openBroker, type OpenBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { BrokerError } from '../errors.js';
import { NO_TAGS } from '../message.js';
import { OpenGate, PolicyGate, type Client } from './gatekeeper.js';
import { AccessPolicy, compilePattern, type AccessRule } from './policy.js';
import { AccessDenied, ACCESSES, RESOURCE_KINDS } from './resource.js';

const name = (text: string): ChannelName => text as ChannelName;
const body = Buffer.from('x');

const all: Pick<AccessRule, 'kinds' | 'accesses'> = { kinds: RESOURCE_KINDS, accesses: ACCESSES };
const RULES: readonly AccessRule[] = [
  { clientId: 'owner', channel: '.*', ...all },
  { clientId: 'writer', channel: 'jobs', kinds: ['queue', 'log', 'events'], accesses: ['write'] },
  { clientId: 'reader', channel: 'jobs', kinds: ['queue', 'log', 'events'], accesses: ['read'] },
  { clientId: 'reader', channel: 'a\\..*', kinds: ['events'], accesses: ['read'] },
  { clientId: 'family', channel: 'f', kinds: ['queue'], accesses: ['read', 'write'] },
];

const brokers: OpenBroker[] = [];
afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.close();
});

async function gate(rules = RULES): Promise<{
  readonly broker: OpenBroker;
  readonly gate: PolicyGate;
  readonly client: (id: string) => Client;
}> {
  const broker = await openBroker({ journal: new MemoryJournal(), clock: new ManualClock(), log: silentLog });
  brokers.push(broker);
  const gate = new PolicyGate(broker, new AccessPolicy(rules));
  return { broker, gate, client: (id) => gate.clientOf(id) };
}

describe('a pattern', () => {
  it.each([
    ['foo.bar', 'foo.bar', true],
    ['foo.bar', 'foo.bar.baz', false],
    ['client*', 'client-7', true],
    ['client*', 'my-client', false],
    ['foo.bar*', 'foo.bar.baz', true],
    ['.*', 'anything at all', true],
    ['sqs\\.(a|b)', 'sqs.a', true],
    ['sqs\\.(a|b)', 'sqs.c', false],
    ['a|b', 'b', true],
    ['a|b', 'ab', false],
    ['[a-c]*', 'abcabc', true],
    ['[a-c]*', 'abd', false],
  ])('%s on %s: %s', (pattern, text, matches) => {
    expect(compilePattern(pattern).test(text)).toBe(matches);
  });
});

describe('a policy', () => {
  it('remembers a bounded number of clients and channels', () => {
    const policy = new AccessPolicy(RULES);
    for (let i = 0; i < 10_050; i++) policy.grantsOf(`c${i}`);
    const grants = policy.grantsOf('owner');
    for (let i = 0; i < 10_050; i++) expect(grants.of(`q${i}`)).not.toBe(0);
    expect(policy.ruleCount).toBe(RULES.length);
  });
});

describe('a client behind a policy', () => {
  const writes: Readonly<Record<string, (client: Client) => unknown>> = {
    append: ({ broker }) => broker.append([{ channel: name('jobs'), body }]),
    change: ({ broker }) => broker.change([{ do: 'create-queue', channel: name('jobs') }]),
    publish: ({ broker }) =>
      broker.live.publish({ id: '', clientId: '', channel: name('jobs'), metadata: '', tags: NO_TAGS, body }),
  };
  const lease = { channel: name('jobs'), sequence: 1, attempt: 1 };
  const reads: Readonly<Record<string, (client: Client) => unknown>> = {
    receive: ({ broker }) =>
      broker.receive({ channel: name('jobs'), max: 1, waitMs: 0, handOut: { kind: 'auto' } }),
    consume: ({ broker }) =>
      broker.consume({
        channel: name('jobs'),
        credit: 1,
        handOut: { kind: 'auto' },
        onDeliveries: () => undefined,
        onCancel: () => undefined,
      }),
    settle: ({ broker }) => broker.settle({ tokens: [lease], settlement: { kind: 'ack' } }),
    holds: ({ broker }) => broker.holds(lease),
    peek: ({ broker }) => broker.peek(name('jobs'), 1),
    purge: ({ broker }) => broker.purge(name('jobs'), { ready: true, delayed: true, inFlight: true }),
    subscribe: ({ broker }) => broker.subscribe({ channel: name('jobs'), start: { from: 'new' } }),
    readLog: ({ broker }) => broker.readLog({ channel: name('jobs'), fromSequence: 1, max: 1 }),
    sequenceAt: ({ broker }) => broker.sequenceAt(name('jobs'), 0),
    listen: ({ broker }) =>
      broker.live.subscribe({ pattern: 'jobs', group: '', sink: { open: true, take: () => undefined } }),
  };

  /** Async calls reject, others throw: both are the refusal. */
  const outcome = async (act: () => unknown): Promise<unknown> => {
    try {
      return await act();
    } catch (error) {
      return error;
    }
  };

  it.each(Object.keys(writes))('%s needs the right to write', async (key) => {
    const { broker, client } = await gate();
    await broker.change([{ do: 'create-log', channel: name('jobs') }]);
    const act = writes[key];
    expect(await outcome(() => act?.(client('reader')))).toBeInstanceOf(AccessDenied);
    expect(await outcome(() => act?.(client('writer')))).not.toBeInstanceOf(AccessDenied);
  });

  it.each(Object.keys(reads))('%s needs the right to read', async (key) => {
    const { broker, client } = await gate();
    await broker
      .change([
        { do: 'create-queue', channel: name('jobs') },
        { do: 'create-log', channel: name('jobs') },
      ])
      .catch(() => broker.change([{ do: 'create-queue', channel: name('jobs'), ifMissing: true }]));
    const act = reads[key];
    expect(await outcome(() => act?.(client('writer')))).toBeInstanceOf(AccessDenied);
    expect(await outcome(() => act?.(client('reader')))).not.toBeInstanceOf(AccessDenied);
    expect(await outcome(() => act?.(client('nobody')))).toMatchObject({
      kind: 'forbidden',
      clientId: 'nobody',
    });
  });

  it('sends what is allowed of a batch, and refuses the rest at its place', async () => {
    const { broker, gate: own, client } = await gate();
    const outcomes = await client('writer').broker.send(
      [
        { channel: name('secret'), body },
        { channel: name('jobs'), body },
        { channel: name('jobs'), body, policy: { maxReceiveCount: 1, maxReceiveQueue: name('secret') } },
        { channel: name('jobs'), body },
      ],
      { createMissing: true },
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, false, true]);
    expect(broker.queueStats(name('jobs'))?.ready).toBe(2);
    expect(broker.queueStats(name('secret'))).toBeUndefined();
    expect(own.refusals.filter(({ count }) => count > 0)).toEqual([
      { kind: 'queue', access: 'write', count: 2 },
    ]);
    const refused = client('writer').broker.send(
      [
        { channel: name('jobs'), body },
        { channel: name('secret'), body },
      ],
      { allOrNothing: true },
    );
    await expect(refused).rejects.toBeInstanceOf(AccessDenied);
    expect(broker.queueStats(name('jobs'))?.ready).toBe(2);
  });

  it('appends along with a send only to logs that may be written', async () => {
    const { broker, client } = await gate();
    await broker.change([{ do: 'create-log', channel: name('secret') }]);
    const append = [{ channel: name('secret'), body }];
    const sent = client('writer').broker.send([{ channel: name('jobs'), body }], {
      createMissing: true,
      append,
    });
    await expect(sent).rejects.toBeInstanceOf(AccessDenied);
    expect(broker.logStats(name('secret'))?.events).toBe(0);
    expect(broker.queueStats(name('jobs'))).toBeUndefined();
  });

  it('a sub-channel is its queue, and an alias gives no right', async () => {
    const { broker, client } = await gate();
    await broker.change([
      { do: 'create-queue', channel: name('f'), settings: { subChannelMarks: ['.g.'] } },
      { do: 'create-queue', channel: name('secret') },
      { do: 'set-alias', alias: name('jobs'), channel: name('secret') },
    ]);
    const [sent] = await client('family').broker.send([{ channel: name('f.g.1'), body }]);
    expect(sent?.ok).toBe(true);
    const [refused] = await client('writer').broker.send([{ channel: name('jobs'), body }]);
    expect(refused?.ok).toBe(false);
  });

  it('moves and dead letters need the right to write where they go', async () => {
    const { broker, client } = await gate();
    await broker.change([
      { do: 'create-queue', channel: name('f') },
      { do: 'create-queue', channel: name('secret') },
    ]);
    const { broker: own } = client('family');
    await own.send([{ channel: name('f'), body }]);
    const tokens = await own.receive({
      channel: name('f'),
      max: 1,
      waitMs: 0,
      handOut: { kind: 'lease', leaseMs: 0 },
    });
    await expect(
      own.settle({ tokens, settlement: { kind: 'move', channel: name('secret') } }),
    ).rejects.toBeInstanceOf(AccessDenied);
    const deadLetter = { target: { channel: name('secret') }, reasons: ['expired'] as const };
    await expect(
      own.change([{ do: 'update-queue', channel: name('f'), settings: { deadLetter } }]),
    ).rejects.toBeInstanceOf(AccessDenied);
    await own.change([{ do: 'update-queue', channel: name('f'), settings: { maxLength: 1 } }]);
  });

  it('lists and counts only what it may know of', async () => {
    const { broker, client } = await gate();
    await broker.change([
      { do: 'create-queue', channel: name('jobs') },
      { do: 'create-queue', channel: name('secret') },
    ]);
    const { broker: own } = client('reader');
    expect(own.queues('')).toEqual(['jobs']);
    expect(own.queueStats(name('jobs'))).toBeDefined();
    expect(() => own.queueStats(name('secret'))).toThrow(AccessDenied);
    expect(client('nobody').broker.queues('')).toEqual([]);
  });

  it('hears of a wildcard only what it may read', async () => {
    const { broker, client } = await gate([
      ...RULES.filter(({ clientId }) => clientId !== 'reader'),
      { clientId: 'reader', channel: 'a\\.(\\*|public)', kinds: ['events'], accesses: ['read'] },
    ]);
    const heard: string[] = [];
    const sink = { open: true, take: ({ channel }: { channel: string }) => void heard.push(channel) };
    client('reader').broker.live.subscribe({ pattern: 'a.*', group: '', sink });
    for (const channel of ['a.public', 'a.secret']) {
      broker.live.publish({
        id: '',
        clientId: '',
        channel: name(channel),
        metadata: '',
        tags: NO_TAGS,
        body,
      });
    }
    expect(heard).toEqual(['a.public']);
    expect(() => client('reader').broker.live.subscribe({ pattern: 'b.*', group: '', sink })).toThrow(
      AccessDenied,
    );
  });

  it('registry entries need what their connector says, and of others the right to a queue named after them', async () => {
    const { gate: own, client } = await gate([
      ...RULES,
      { clientId: 'maker', channel: 'topic\\.t', kinds: ['log'], accesses: ['write'] },
      { clientId: 'maker', channel: 'x\\.other\\.k', kinds: ['queue'], accesses: ['write'] },
    ]);
    own.describe('x.topic', (key) => [{ kind: 'log', access: 'write', channel: name(`topic.${key}`) }]);
    const put = (kind: string, key: string) =>
      client('maker').broker.change([{ do: 'put', kind, key, value: 1 }]);
    await put('x.topic', 't');
    await put('x.other', 'k');
    await expect(put('x.topic', 'u')).rejects.toBeInstanceOf(AccessDenied);
    await expect(put('x.other', 'l')).rejects.toBeInstanceOf(AccessDenied);
  });

  it('a replaced policy holds at once, and ends what it no longer allows', async () => {
    const { broker, gate: own, client } = await gate();
    await broker.change([{ do: 'create-queue', channel: name('jobs') }]);
    const reader = client('reader');
    const ends: BrokerError[] = [];
    const heard: number[] = [];
    reader.broker.consume({
      channel: name('jobs'),
      credit: 10,
      handOut: { kind: 'auto' },
      onDeliveries: (deliveries) => void heard.push(deliveries.length),
      onCancel: (reason) => void ends.push(reason),
    });
    own.replace(new AccessPolicy(RULES));
    expect(ends).toEqual([]);
    own.replace(new AccessPolicy(RULES.slice(0, 2)));
    expect(ends).toEqual([expect.any(AccessDenied)]);
    await broker.send([{ channel: name('jobs'), body }]);
    expect(heard).toEqual([]);
    await expect(reader.broker.peek(name('jobs'), 1)).rejects.toBeInstanceOf(AccessDenied);
    own.replace(new AccessPolicy(RULES));
    expect(await reader.broker.peek(name('jobs'), 1)).toHaveLength(1);
  });

  it('a replaced policy ends what waits, with the refusal; what comes is for others', async () => {
    const { broker, gate: own, client } = await gate();
    await broker.change([
      { do: 'create-queue', channel: name('jobs') },
      { do: 'create-log', channel: name('f') },
    ]);
    own.replace(
      new AccessPolicy([...RULES, { clientId: 'reader', channel: 'f', kinds: ['log'], accesses: ['read'] }]),
    );
    const { broker: reader } = client('reader');
    const wanted = { channel: name('jobs'), max: 1, handOut: { kind: 'auto' } } as const;
    const waiting = outcome(() => reader.receive({ ...wanted, waitMs: 60_000 }));
    const subscription = reader.subscribe({ channel: name('f'), start: { from: 'new' } });
    const next = outcome(() => subscription.next(1));
    own.replace(new AccessPolicy(RULES.slice(0, 2)));
    expect(await waiting).toBeInstanceOf(AccessDenied);
    expect(await next).toBeInstanceOf(AccessDenied);
    expect(broker.queueStats(name('jobs'))?.waiters).toBe(0);
    await broker.send([{ channel: name('jobs'), body }]);
    expect(await client('owner').broker.receive({ ...wanted, waitMs: 0 })).toHaveLength(1);
  });

  it('a wait ends with its signal, and is no longer looked at then', async () => {
    const { broker, gate: own, client } = await gate();
    await broker.change([{ do: 'create-queue', channel: name('jobs') }]);
    const { broker: reader } = client('reader');
    const gone = new AbortController();
    const wanted = { channel: name('jobs'), max: 1, handOut: { kind: 'auto' }, waitMs: 60_000 } as const;
    const waiting = reader.receive({ ...wanted, signal: gone.signal });
    gone.abort();
    expect(await waiting).toEqual([]);
    expect(await reader.receive({ ...wanted, signal: gone.signal })).toEqual([]);
    own.replace(new AccessPolicy([]));
    expect(own.refusals.every(({ count }) => count === 0)).toBe(true);
  });

  it('what is for connectors is refused', async () => {
    const { client } = await gate();
    const { broker } = client('owner');
    expect(() => broker.setFanOut(name('jobs'), [])).toThrow('for connectors');
    expect(() => broker.registerTranslator('x', () => ({ tags: NO_TAGS }))).toThrow('for connectors');
    expect(() => broker.registerRouter('x', () => [])).toThrow('for connectors');
  });
});

describe('an open gate', () => {
  it('gives the broker itself', async () => {
    const { broker } = await gate();
    const open = new OpenGate(broker);
    expect(open.enabled).toBe(false);
    expect(open.clientOf('anybody').broker).toBe(broker);
  });
});
