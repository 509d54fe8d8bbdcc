import { describe, expect, it } from 'vitest';
import { ManualClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import type { MemoryFaults, MemoryJournal } from '../journal/memory/index.js';
import { createMemoryJournal } from '../journal/memory/index.js';
import type { OpenBroker } from './broker.js';
import { openBroker } from './broker.js';
import type { ChannelName } from './channel-name.js';
import type { CoreLimits } from './core-context.js';
import { BrokerError } from './errors.js';
import type { OutgoingMessage } from './message.js';
import type { Change } from './registry/types.js';

const on = (name: string): ChannelName => name as ChannelName;
const queue = on('q');
const lease = { kind: 'lease', leaseMs: 60_000 } as const;

function message(body: string, channel: ChannelName = queue): OutgoingMessage {
  return { channel, body: Buffer.from(body) };
}

interface World {
  readonly broker: OpenBroker;
  readonly journal: MemoryJournal;
  readonly faults: MemoryFaults;
  readonly clock: ManualClock;
}

async function open(limits: Partial<CoreLimits> = {}, before?: World, laterMs = 0): Promise<World> {
  const faults: MemoryFaults = {};
  const image = before?.journal.crash(0);
  const journal = createMemoryJournal({ faults, ...(image !== undefined && { image }) });
  const clock = new ManualClock();
  clock.advance(laterMs);
  const broker = await openBroker({ journal, clock, log: silentLog, limits });
  return { broker, journal, faults, clock };
}

/** Everything is on disk, nothing is said goodbye to: the records alone make the next broker. */
async function replay(world: World): Promise<World> {
  await world.journal.flush();
  return open({}, world);
}

async function kindOf(done: Promise<unknown>): Promise<string> {
  return done.then(
    () => 'ok',
    (error: unknown) => (error as BrokerError).kind,
  );
}

describe('bounds of the core', () => {
  it('refuse what is too large or too many, each by its name', async () => {
    const { broker, faults } = await open({
      messageBytesMax: 10,
      batchMax: 2,
      batchBytesMax: 15,
      queuesMax: 1,
      subChannelsMax: 1,
      waitersMax: 1,
      consumersMax: 1,
    });
    await broker.change([{ do: 'create-queue', channel: queue, settings: { subChannelMarks: ['.g.'] } }]);
    const tags = new Map([['key', 'a longer value']]);
    expect(await kindOf(broker.send([{ ...message('x'), tags }]))).toBe('limit');
    expect(await kindOf(broker.send([message('1'), message('2'), message('3')]))).toBe('limit');
    expect(await kindOf(broker.send([message('12345678'), message('12345678')]))).toBe('limit');
    const [first] = await broker.send([message('a', on('q.g.a'))]);
    expect(first?.ok).toBe(true);
    const [second] = await broker.send([message('b', on('q.g.b'))]);
    expect(second).toMatchObject({ ok: false, error: { kind: 'limit' } });
    expect(await kindOf(broker.append([message('e', on('one'))], { createMissing: true }))).toBe('ok');
    expect(await kindOf(broker.append([message('e', on('two'))], { createMissing: true }))).toBe('limit');
    const receive = { channel: on('q.g.z'), max: 1, handOut: lease };
    const waiting = broker.receive({ ...receive, waitMs: 1000 });
    expect(await kindOf(broker.receive({ ...receive, waitMs: 1000 }))).toBe('limit');
    expect(await kindOf(broker.receive({ ...receive, waitMs: 0, max: 0 }))).toBe('invalid-argument');
    const consume = {
      channel: queue,
      credit: 0,
      handOut: lease,
      onDeliveries: () => undefined,
      onCancel: () => undefined,
    };
    broker.consume(consume);
    expect(() => broker.consume(consume)).toThrow('too many consumers');
    faults.lowSpace = true;
    expect(broker.figures().shortage).toMatch(/disk/);
    expect(await kindOf(broker.send([message('x')]))).toBe('unavailable');
    await broker.close();
    expect(await waiting).toEqual([]);
    expect(await kindOf(broker.change([]))).toBe('draining');
  });

  it('refuse sends while memory is short, and take them again', async () => {
    const { broker } = await open({ memoryBytesMax: 2048 + 40 });
    await broker.change([{ do: 'create-queue', channel: queue }]);
    await broker.send([message('1')]);
    expect(await kindOf(broker.send([message('2')]))).toBe('unavailable');
    await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: { kind: 'auto' } });
    expect(await kindOf(broker.send([message('2')]))).toBe('ok');
  });

  it('refuse names that are none, wherever they come in', async () => {
    const { broker } = await open();
    await broker.change([{ do: 'create-queue', channel: queue, settings: { subChannelMarks: ['.g.'] } }]);
    const [bad, badSub] = await broker.send([message('x', on('a b')), message('x', on('q.g.*'))], {
      createMissing: true,
    });
    expect([bad?.ok, badSub?.ok]).toEqual([false, false]);
    expect(await kindOf(broker.append([message('x', on('a.'))], { createMissing: true }))).toBe(
      'invalid-argument',
    );
    expect(await kindOf(broker.append([message('x', on('none'))]))).toBe('not-found');
    expect(await kindOf(broker.peek(on('none'), 1))).toBe('not-found');
    expect(await kindOf(broker.receive({ channel: on('none'), max: 1, waitMs: 0, handOut: lease }))).toBe(
      'not-found',
    );
    const made = { channel: on('made'), max: 1, waitMs: 0, handOut: lease, createMissing: true };
    expect(await broker.receive(made)).toEqual([]);
    expect(broker.queues('m')).toEqual(['made']);
    expect(await broker.purge(on('q.g.none'), { ready: true, delayed: true, inFlight: true })).toEqual({
      ready: 0,
      delayed: 0,
      inFlight: 0,
    });
    expect(await broker.peek(on('q.g.none'), 1)).toEqual([]);
    expect([broker.queueStats(on('none')), broker.logStats(on('none'))]).toEqual([undefined, undefined]);
  });
});

describe('changes', () => {
  it('are refused with the reason, one by one', async () => {
    const { broker } = await open();
    await broker.change([
      { do: 'create-queue', channel: queue, settings: { subChannelMarks: ['.g.'] } },
      { do: 'create-log', channel: on('log') },
      { do: 'set-alias', alias: on('alias'), channel: queue },
    ]);
    await broker.send([message('x', on('q.g.a'))]);
    const refused: [Change, string][] = [
      [{ do: 'create-queue', channel: queue }, 'already-exists'],
      [{ do: 'create-log', channel: on('log') }, 'already-exists'],
      [{ do: 'create-queue', channel: on('*') }, 'invalid-argument'],
      [{ do: 'update-queue', channel: on('none'), settings: {} }, 'not-found'],
      [{ do: 'update-queue', channel: on('q.g.a'), settings: {} }, 'not-found'],
      [{ do: 'update-log', channel: on('none'), settings: {} }, 'not-found'],
      [{ do: 'set-alias', alias: on('log'), channel: queue }, 'precondition'],
      [{ do: 'set-alias', alias: on('q.g.x'), channel: queue }, 'precondition'],
      [{ do: 'set-alias', alias: on('a b'), channel: queue }, 'invalid-argument'],
      [{ do: 'set-alias', alias: on('b'), channel: on('alias') }, 'invalid-argument'],
      [{ do: 'set-alias', alias: on('b'), channel: on('b') }, 'invalid-argument'],
      [{ do: 'remove', kind: 'k', key: 'none', expected: 1 }, 'not-found'],
    ];
    for (const [change, kind] of refused)
      expect([change, await kindOf(broker.change([change]))]).toEqual([change, kind]);
    const fine: Change[] = [
      { do: 'create-queue', channel: queue, ifMissing: true },
      { do: 'create-log', channel: on('log'), ifMissing: true },
      { do: 'delete-queue', channel: on('none') },
      { do: 'delete-queue', channel: on('q.g.a') },
      { do: 'delete-log', channel: on('none') },
      { do: 'remove-alias', alias: on('none') },
      { do: 'remove', kind: 'k', key: 'none' },
    ];
    expect(await broker.change(fine)).toEqual(fine.map(() => 0));
    expect(broker.queueStats(queue)?.ready).toBe(1);
  });

  it('are all read back from their records, and from a checkpoint', async () => {
    let world = await open();
    const values: Change[] = [
      { do: 'put', kind: 'k', key: 'a', value: 1 },
      { do: 'put', kind: 'k', key: 'b', value: { __proto__: null, deep: ['x'] } },
    ];
    await world.broker.change([
      ...values,
      { do: 'create-queue', channel: queue },
      { do: 'create-queue', channel: on('gone') },
      { do: 'create-log', channel: on('log') },
      { do: 'create-log', channel: on('gone-log') },
      { do: 'set-alias', alias: on('alias'), channel: queue },
      { do: 'set-alias', alias: on('gone-alias'), channel: queue },
    ]);
    await world.broker.change([
      { do: 'update-queue', channel: queue, settings: { maxLength: 5 } },
      { do: 'update-log', channel: on('log'), settings: { retentionCount: 5 } },
      { do: 'delete-queue', channel: on('gone') },
      { do: 'delete-log', channel: on('gone-log') },
      { do: 'remove', kind: 'k', key: 'a' },
      { do: 'remove-alias', alias: on('gone-alias') },
    ]);
    for (let round = 0; round < 2; round++) {
      world = await replay(world);
      const { broker } = world;
      expect(broker.queues('')).toEqual([queue]);
      expect(broker.logs('')).toEqual(['log']);
      expect(broker.queueStats(queue)?.settings.maxLength).toBe(5);
      expect(broker.logStats(on('log'))?.settings.retentionCount).toBe(5);
      expect(broker.registry.list('k').map(({ key, version }) => [key, version])).toEqual([['b', 1]]);
      expect(broker.aliases()).toEqual([{ alias: 'alias', channel: queue }]);
      await broker.checkpoint();
      expect(broker.figures().checkpoints).toBe(1);
    }
  });

  it('leave nothing when their commit fails', async () => {
    const world = await open();
    const { broker, faults } = world;
    const failing = broker.change([
      { do: 'create-queue', channel: queue },
      { do: 'create-log', channel: on('log') },
      { do: 'put', kind: 'k', key: 'a', value: 1 },
    ]);
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    expect(await kindOf(failing)).toBe('unavailable');
    expect([broker.queues(''), broker.logs(''), broker.registry.list('k')]).toEqual([[], [], []]);
    await broker.change([{ do: 'create-queue', channel: queue }]);
    expect((await replay(world)).broker.queues('')).toEqual([queue]);
  });

  it('keep a queue whose commit failed when messages were moved to it meanwhile', async () => {
    const world = await open();
    const { broker, faults } = world;
    await broker.change([{ do: 'create-queue', channel: queue }]);
    await broker.send([message('1')]);
    const tokens = await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    faults.holdCommits = true;
    const creating = kindOf(broker.change([{ do: 'create-queue', channel: on('late') }]));
    await new Promise<void>((resolve) => void setImmediate(resolve));
    await broker.settle({ tokens, settlement: { kind: 'move', channel: on('late') } });
    await new Promise<void>((resolve) => void setImmediate(resolve));
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    world.journal.commit();
    faults.holdCommits = false;
    expect(await creating).toBe('unavailable');
    expect(broker.queueStats(on('late'))?.ready).toBe(1);
    await broker.send([message('2')]);
    expect((await replay(world)).broker.queueStats(on('late'))?.ready).toBe(1);
  });

  it('go on when a watcher fails', async () => {
    const { broker } = await open();
    broker.registry.watch('k', () => {
      throw new Error('a bug');
    });
    expect(await broker.change([{ do: 'put', kind: 'k', key: 'a', value: 1 }])).toEqual([1]);
  });
});

describe('a broker', () => {
  it('gives every message of a family an id of its own, whatever sub-channels come and go', async () => {
    let world = await open();
    const family = { do: 'create-queue', settings: { subChannelMarks: ['.g.'] } } as const;
    await world.broker.change([{ ...family, channel: queue }]);
    await world.broker.change([{ ...family, channel: on('other') }]);
    const ids: string[] = [];
    for (const name of ['q.g.a', 'other.g.a', 'q', 'q.g.b', 'other.g.a', 'other', 'q.g.a']) {
      const [sent] = await world.broker.send([message('x', on(name))]);
      const receive = { channel: on(name), max: 1, waitMs: 0, handOut: { kind: 'auto' } } as const;
      const [read] = await world.broker.receive(receive);
      expect(sent?.ok && sent.id).toBe(read?.message.id);
      ids.push(read!.message.id);
      world = await replay(world);
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('waits for the routers before it dead-letters what the process that died held', async () => {
    let world = await open();
    const deadLetter = { target: { route: 'r:dead' }, reasons: ['expired'] } as const;
    await world.broker.change([
      { do: 'create-queue', channel: queue, settings: { deadLetter } },
      { do: 'create-queue', channel: on('dead') },
    ]);
    await world.broker.send([{ ...message('x'), policy: { expirationMs: 500 } }]);
    await world.broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: { kind: 'lease', leaseMs: 0 } });
    await world.journal.flush();
    world = await open({}, world, 600);
    world.broker.registerRouter('r', (rest) => [{ channel: on(rest) }]);
    world.clock.advance(20);
    await world.journal.flush();
    expect(world.broker.queueStats(on('dead'))?.ready).toBe(1);
  });

  it('gives back its deliveries, moves and purges as its records say', async () => {
    let world = await open();
    const { broker } = world;
    await broker.change([
      { do: 'create-queue', channel: queue, settings: { dedupWindowMs: 1000 } },
      { do: 'create-queue', channel: on('other') },
    ]);
    await broker.send(['1', '2', '3', '4', '5'].map((body) => ({ ...message(body), dedupId: body })));
    const d = await broker.receive({ channel: queue, max: 4, waitMs: 0, handOut: lease });
    await broker.settle({ tokens: [d[0]!], settlement: { kind: 'extend', leaseMs: 5000 } });
    await broker.settle({ tokens: [d[1]!], settlement: { kind: 'nack', to: 'tail' } });
    await broker.settle({
      tokens: [d[2]!],
      settlement: { kind: 'nack', to: 'origin', delayMs: 300, uncounted: true },
    });
    await broker.settle({ tokens: [d[3]!], settlement: { kind: 'move', channel: on('other') } });
    world = await replay(world);
    expect(world.broker.queueStats(queue)).toMatchObject({ ready: 2, delayed: 1, inFlight: 1 });
    expect(world.broker.queueStats(on('other'))?.ready).toBe(1);
    const [again] = await world.broker.send([{ ...message('x'), dedupId: '1' }]);
    expect(again).toMatchObject({ ok: true, duplicate: true });
    await world.broker.purge(queue, { ready: true, delayed: true, inFlight: true });
    world = await replay(world);
    expect(world.broker.queueStats(queue)).toMatchObject({ ready: 0, delayed: 0, inFlight: 0 });
  });

  it('goes on when a checkpoint fails, and refuses one it does not know', async () => {
    const { broker, faults } = await open();
    faults.failNextCheckpoint = new BrokerError('internal', 'no');
    await broker.checkpoint();
    expect(broker.figures().checkpoints).toBe(0);
    await broker.checkpoint();
    expect(broker.figures().checkpoints).toBe(1);
    const journal = createMemoryJournal();
    for (const bytes of [
      Buffer.alloc(32),
      Buffer.from('PQC1\u0009\u0000\u0000\u0000'.padEnd(32, '\u0000')),
    ]) {
      await journal.writeCheckpoint(0, [bytes]);
      expect(await kindOf(openBroker({ journal, clock: new ManualClock(), log: silentLog }))).toBe(
        'internal',
      );
    }
  });
});
