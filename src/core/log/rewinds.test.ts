import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import type { MemoryFaults, MemoryJournal } from '../../journal/memory/index.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreLimits } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import type { Delivery } from '../queue/types.js';
import type { FanOutTarget, RewindRequest } from './types.js';

const on = (name: string): ChannelName => name as ChannelName;
const queue = on('q');
const log = on('events');
const lease = { kind: 'lease', leaseMs: 60_000 } as const;

/** Bodies are `{number}{key}`; keys have channels of their own, and `-` is filtered out. */
const target: FanOutTarget = {
  queue,
  route: ({ body }) => {
    const key = Buffer.from(body).toString().replace(/^\d+/, '');
    return key === '-' ? undefined : key === '' ? queue : on(`q.g.${key}`);
  },
};

class World {
  readonly #limits: Partial<CoreLimits>;
  broker!: OpenBroker;
  journal: MemoryJournal | undefined;
  faults: MemoryFaults = {};
  readonly clock = new ManualClock();

  constructor(limits: Partial<CoreLimits> = {}) {
    this.#limits = limits;
  }

  async open(): Promise<this> {
    await this.#start();
    await this.broker.change([
      { do: 'create-log', channel: log },
      { do: 'create-queue', channel: queue, settings: { subChannelMarks: ['.g.'] } },
    ]);
    this.broker.setFanOut(log, [target]);
    return this;
  }

  async #start(image = this.journal?.crash(0)): Promise<void> {
    this.faults = {};
    const more = image === undefined ? {} : { image };
    this.journal = createMemoryJournal({ faults: this.faults, peekBytesMax: 300, ...more });
    const { journal, clock } = this;
    this.broker = await openBroker({ journal, clock, log: silentLog, limits: this.#limits });
  }

  /** The process dies; all it wrote is there. */
  async restart(): Promise<void> {
    await this.journal?.flush();
    await this.#start();
    this.broker.setFanOut(log, [target]);
  }

  /** The power goes. */
  async crash(seed: number): Promise<void> {
    await this.#start(this.journal?.crash(seed));
    this.broker.setFanOut(log, [target]);
  }

  append(...bodies: string[]): Promise<unknown> {
    return this.broker.append(
      bodies.map((body): OutgoingMessage => ({ channel: log, body: Buffer.from(body) })),
    );
  }

  receive(max = 100): Promise<readonly Delivery[]> {
    return this.broker.receive({ channel: queue, max, waitMs: 0, handOut: lease, perSubChannelMax: 1 });
  }

  rewind(more: Partial<RewindRequest>): ReturnType<OpenBroker['rewind']> {
    return this.broker.rewind({
      queue,
      log,
      wants: () => true,
      keeps: () => true,
      route: target.route,
      restoreMax: Infinity,
      ...more,
    });
  }

  /** Takes everything there is, in order. */
  async drain(): Promise<string[]> {
    const bodies: string[] = [];
    for (;;) {
      const deliveries = await this.receive();
      if (deliveries.length === 0) return bodies;
      bodies.push(...deliveries.map(({ message }) => Buffer.from(message.body).toString()));
      await this.broker.settle({ tokens: deliveries, settlement: { kind: 'ack' } });
    }
  }
}

describe('rewinding a queue', () => {
  it('brings back what was settled, takes what was not, in the order of the log', async () => {
    const world = await new World().open();
    await world.append('1', '2', '3', '4');
    const [first, second] = await world.receive();
    await world.broker.settle({ tokens: [second!], settlement: { kind: 'ack' } });
    const result = await world.rewind({ wants: (sequence) => sequence <= 3 });
    expect(result).toEqual({ restored: 1, kept: 2, removed: 1, skipped: 0 });
    expect(world.broker.holds(first!)).toBe(false);
    await world.restart();
    expect(await world.drain()).toEqual(['1', '2', '3']);
  });

  it('looks at filter and key again, and keeps ordered channels in order', async () => {
    const world = await new World().open();
    await world.append('1a', '2-', '3a', '4b');
    await world.broker.settle({ tokens: await world.receive(), settlement: { kind: 'ack' } });
    await world.append('5a');
    expect(await world.rewind({})).toMatchObject({ restored: 2, kept: 2 });
    const drained = await world.drain();
    expect(drained.filter((body) => body.endsWith('a'))).toEqual(['1a', '3a', '5a']);
    expect(drained.filter((body) => !body.endsWith('a'))).toEqual(['4b']);
  });

  it('puts what is on its way behind what it brings back', async () => {
    const world = await new World().open();
    await world.append('1a', '2a');
    await world.drain();
    world.faults.holdCommits = true;
    const late = world.append('3a');
    const rewound = world.rewind({});
    await Promise.resolve();
    world.faults.holdCommits = false;
    for (let i = 0; i < 5; i++) {
      world.journal?.commit();
      await Promise.resolve();
    }
    await Promise.all([late, rewound]);
    await world.restart();
    const [one] = await world.receive();
    // Given back, it keeps its place before its successors.
    await world.broker.settle({ tokens: [one!], settlement: { kind: 'nack', to: 'origin' } });
    expect(await world.drain()).toEqual(['1a', '2a', '3a']);
    // What was acknowledged under its new number is gone after the next start, too.
    await world.restart();
    expect(await world.drain()).toEqual([]);
  });

  it('bounds what it brings back, never what is there', async () => {
    const world = await new World().open();
    await world.append('1', '2', '3', '4', '5');
    await world.broker.settle({
      tokens: (await world.receive()).slice(1, 4),
      settlement: { kind: 'ack' },
    });
    expect(await world.rewind({ restoreMax: 2 })).toEqual({ restored: 2, kept: 2, removed: 0, skipped: 1 });
    expect(await world.drain()).toEqual(['1', '3', '4', '5']);
  });

  it('keeps or drops what is no event of the log as it is told', async () => {
    const world = await new World().open();
    await world.broker.send([{ channel: queue, body: Buffer.from('own') }]);
    await world.append('1');
    await world.rewind({});
    expect(await world.drain()).toEqual(['own', '1']);
    await world.broker.send([{ channel: queue, body: Buffer.from('own') }]);
    await world.rewind({ log: undefined, keeps: () => false });
    expect(await world.drain()).toEqual([]);
    await expect(world.rewind({ queue: on('none') })).rejects.toMatchObject({ kind: 'not-found' });
    await expect(world.rewind({ log: on('none') })).rejects.toMatchObject({ kind: 'not-found' });
  });

  it('is there after a commit that failed', async () => {
    const world = await new World().open();
    await world.append('1');
    await world.drain();
    const { BrokerError } = await import('../errors.js');
    world.faults.failNextGroup = new BrokerError('unavailable', 'no disk');
    const rewound = world.rewind({});
    await world.append('2').catch(() => world.append('2'));
    await rewound;
    await world.restart();
    expect(await world.drain()).toEqual(['1', '2']);
  });

  const step = fc.oneof(
    fc.record({ do: fc.constant('append' as const), keys: fc.array(fc.constantFrom('', 'a', 'b', '-')) }),
    fc.record({ do: fc.constantFrom('ack' as const, 'nack' as const), max: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('rewind' as const), wanted: fc.array(fc.boolean(), { maxLength: 30 }) }),
    fc.record({ do: fc.constantFrom('restart' as const, 'checkpoint' as const, 'snapshot' as const) }),
  );

  // As one piece of work, and in slices that are smaller than nearly all there is.
  it.each([1000, 3])(
    'leaves exactly what was asked for, whatever came before: slices of %i',
    async (most) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const world = await new World({ rewindSliceMax: most }).open();
          const bodies: string[] = [];
          let held = new Set<number>();
          for (const s of steps) {
            if (s.do === 'append') {
              const added = s.keys.map((key, i) => `${bodies.length + i + 1}${key}`);
              await world.append(...added);
              for (const body of added)
                if (bodies.push(body) > 0 && !body.endsWith('-')) held.add(bodies.length);
            } else if (s.do === 'ack' || s.do === 'nack') {
              const taken = await world.receive(s.max);
              const settlement = s.do === 'ack' ? { kind: s.do } : ({ kind: s.do, to: 'origin' } as const);
              await world.broker.settle({ tokens: taken, settlement });
              for (const { message } of s.do === 'ack' ? taken : [])
                held.delete(parseInt(Buffer.from(message.body).toString(), 10));
            } else if (s.do === 'rewind') {
              const wants = (sequence: number): boolean => s.wanted[sequence % s.wanted.length] === true;
              await world.rewind({ wants });
              const all = bodies.map((_, i) => i + 1);
              held = new Set(all.filter((n) => wants(n) && bodies[n - 1]?.endsWith('-') === false));
            } else if (s.do === 'restart') await world.restart();
            else if (s.do === 'checkpoint') await world.broker.checkpoint();
            else {
              const { upTo, runs } = world.broker.copiesLeft(queue, log);
              expect(upTo).toBe(bodies.length);
              expect(expand(runs)).toEqual([...held].sort((a, b) => a - b));
            }
          }
          const drained = await world.drain();
          const numbers = drained.map((body) => parseInt(body, 10));
          expect([...numbers].sort((a, b) => a - b)).toEqual([...held].sort((a, b) => a - b));
          for (const key of ['a', 'b']) {
            const own = drained.filter((body) => body.endsWith(key)).map((body) => parseInt(body, 10));
            expect(own).toEqual([...own].sort((a, b) => a - b));
          }
        }),
        { numRuns: 60 },
      );
    },
  );
});

/** Numbers as bodies, from 1. */
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i + 1));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a wide rewind', () => {
  const EVENTS = 1000;
  const SLICE = 10;

  it('lets others have their turns, and is one step all the same', async () => {
    const world = await new World({ rewindSliceMax: SLICE }).open();
    await world.broker.change([{ do: 'create-queue', channel: on('other') }]);
    await world.append(...numbered(EVENTS));
    await world.drain();
    let isOver = false;
    const rewound = world.rewind({}).finally(() => (isOver = true));
    let turns = 0;
    let sent = 0;
    const appended: string[] = [];
    while (!isOver) {
      await turn();
      turns++;
      if (turns % 20 !== 0) continue;
      // What others ask for is done in the turn it is asked in.
      await world.broker.send([{ channel: on('other'), body: Buffer.from('x') }]);
      const [other] = await world.broker.receive({ channel: on('other'), max: 1, waitMs: 0, handOut: lease });
      expect(await world.broker.settle({ tokens: [other!], settlement: { kind: 'ack' } })).toEqual({
        refused: [],
      });
      sent++;
      appended.push(String(EVENTS + appended.length + 1));
      await world.append(appended.at(-1)!);
      expect(await world.receive(1)).toEqual([]);
    }
    expect(await rewound).toMatchObject({ restored: EVENTS, removed: 0 });
    // The events are looked at, staged and let in: a slice a turn.
    expect(turns).toBeGreaterThanOrEqual((3 * EVENTS) / SLICE);
    expect(sent).toBeGreaterThan(10);
    const expected = [...numbered(EVENTS), ...appended];
    expect(world.broker.queueStats(queue)).toMatchObject({ ready: expected.length, inFlight: 0 });
    await world.restart();
    expect(world.broker.queueStats(queue)).toMatchObject({ ready: expected.length });
    expect(await world.drain()).toEqual(expected);
  });

  it('takes what the queue holds, leases included, a slice a turn', async () => {
    const world = await new World({ rewindSliceMax: SLICE }).open();
    await world.append(...numbered(200));
    const held = await world.receive(50);
    const rewound = world.rewind({ wants: (sequence) => sequence > 150 });
    // Acknowledged before its turn comes: gone for good either way.
    await world.broker.settle({ tokens: held.slice(0, 1), settlement: { kind: 'ack' } });
    expect(await rewound).toMatchObject({ kept: 50, restored: 0 });
    const late = await world.broker.settle({ tokens: held.slice(1, 3), settlement: { kind: 'ack' } });
    expect(late.refused).toEqual([0, 1]);
    // Their clocks went with them.
    world.clock.advance(120_000);
    expect(world.broker.queueStats(queue)).toMatchObject({ ready: 50, inFlight: 0 });
    expect(await world.drain()).toEqual(numbered(200).slice(150));
    expect(world.broker.figures()).toMatchObject({ messages: 0 });
  });

  it('ends with its queue, and leaves nothing behind', async () => {
    const world = await new World({ rewindSliceMax: SLICE }).open();
    await world.append(...numbered(200));
    const rewound = world.rewind({});
    for (let i = 0; i < 30; i++) await turn();
    await world.broker.change([{ do: 'delete-queue', channel: queue }]);
    await expect(rewound).rejects.toMatchObject({ kind: 'not-found' });
    const { bytes = 0 } = world.broker.logStats(log) ?? {};
    expect(world.broker.figures()).toMatchObject({ messages: 0, liveBytes: bytes });
    await world.restart();
    expect(world.broker.figures()).toMatchObject({ messages: 0, liveBytes: bytes });
  });

  it('is purged whole, and waits for the one before', async () => {
    const world = await new World({ rewindSliceMax: SLICE }).open();
    await world.append(...numbered(100));
    const first = world.rewind({ wants: (sequence) => sequence % 2 === 0 });
    const second = world.rewind({ wants: (sequence) => sequence % 5 === 0 });
    const purged = world.broker.purge(queue, { ready: true, delayed: true, inFlight: true });
    expect(await first).toMatchObject({ kept: 50, removed: 50 });
    expect(await second).toMatchObject({ restored: 10, kept: 10, removed: 40 });
    expect(await purged).toMatchObject({ ready: 20 });
    await world.restart();
    expect(await world.drain()).toEqual([]);
  });

  it('is there as a whole or not at all, whenever the power goes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          keys: fc.array(fc.constantFrom('', 'a', 'b', '-'), { minLength: 10, maxLength: 60 }),
          settled: fc.nat(20),
          turns: fc.nat(60),
          seed: fc.nat(),
          checkpoint: fc.boolean(),
        }),
        async ({ keys, settled, turns, seed, checkpoint }) => {
          const world = await new World({ rewindSliceMax: 4 }).open();
          const bodies = keys.map((key, i) => `${i + 1}${key}`);
          await world.append(...bodies);
          const shown = bodies.filter((body) => !body.endsWith('-'));
          const tokens = (await world.receive(settled + 1)).slice(0, settled);
          const gone = new Set(tokens.map(({ message }) => Buffer.from(message.body).toString()));
          await world.broker.settle({ tokens, settlement: { kind: 'ack' }, durable: true });
          if (checkpoint) await world.broker.checkpoint();
          const wants = (sequence: number): boolean => sequence % 3 !== 0;
          const rewound = world.rewind({ wants });
          const state: { isOver: boolean } = { isOver: false };
          // It may never hear what becomes of it.
          rewound.then(
            () => (state.isOver = true),
            () => undefined,
          );
          for (let i = 0; i < turns && !state.isOver; i++) await turn();
          // In the middle it is refused or does not say half of it.
          if (checkpoint) await world.broker.checkpoint();
          const wasOver = state.isOver;
          await world.crash(seed);
          const drainable = async (): Promise<string[]> => {
            world.clock.advance(120_000);
            return (await world.drain()).sort((a, b) => parseInt(a, 10) - parseInt(b, 10));
          };
          const before = shown.filter((body) => !gone.has(body));
          const after = shown.filter((body) => wants(parseInt(body, 10)));
          const found = await drainable();
          if (wasOver || found.join() !== before.join()) expect(found).toEqual(after);
          // What the crash left of it does no harm to the next one.
          await world.rewind({});
          await world.restart();
          expect(await drainable()).toEqual(shown);
          const { bytes = 0 } = world.broker.logStats(log) ?? {};
          expect(world.broker.figures()).toMatchObject({ messages: 0, liveBytes: bytes, subChannels: 0 });
        },
      ),
      { numRuns: 100 },
    );
  });
});

function expand(runs: readonly number[]): number[] {
  const out: number[] = [];
  for (let i = 0; i < runs.length; i += 2) {
    for (let n = 0; n < (runs[i + 1] ?? 0); n++) out.push((runs[i] ?? 0) + n);
  }
  return out;
}
