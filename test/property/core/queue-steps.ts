import fc from 'fast-check';
import type { QueueSettings } from '../../../src/core/queue/types.js';
import type { ChannelName } from '../../../src/core/channel-name.js';

/** What a run does, one after the other. Numbers called `pick` choose among whatever is there when their turn comes. */
export type Step =
  | {
      readonly do: 'send';
      readonly batch: readonly SendShape[];
      readonly allOrNothing: boolean;
      readonly early: boolean;
    }
  | {
      readonly do: 'receive';
      readonly channel: string;
      readonly max: number;
      readonly maxBytes: number;
      readonly perSubChannelMax: number;
      readonly leaseMs: number;
      readonly waitMs: number;
    }
  | { readonly do: 'abort'; readonly pick: number }
  | {
      readonly do: 'consume';
      readonly channel: string;
      readonly credit: number;
      readonly priority: number;
      readonly leaseMs: number;
      readonly early: boolean;
    }
  | { readonly do: 'grant'; readonly pick: number; readonly credit: number }
  | { readonly do: 'cancel'; readonly pick: number }
  | {
      readonly do: 'settle';
      readonly picks: readonly number[];
      readonly stale: readonly number[];
      readonly how: SettleShape;
      readonly durable: boolean;
    }
  | {
      readonly do: 'purge';
      readonly channel: string;
      readonly ready: boolean;
      readonly delayed: boolean;
      readonly inFlight: boolean;
    }
  | { readonly do: 'delete'; readonly queue: string }
  | { readonly do: 'update'; readonly queue: string; readonly variant: number }
  | { readonly do: 'tick'; readonly count: number }
  | { readonly do: 'hold' }
  | { readonly do: 'release'; readonly fail: boolean }
  | { readonly do: 'fail' }
  | { readonly do: 'checkpoint'; readonly wait: boolean }
  | { readonly do: 'cold'; readonly on: boolean }
  | { readonly do: 'restart' }
  | { readonly do: 'replay' }
  | { readonly do: 'crash'; readonly seed: number };

export interface SendShape {
  readonly channel: string;
  readonly bodyBytes: number;
  readonly delayMs: number;
  readonly expirationMs: number;
  readonly priority: number;
  readonly maxReceiveCount: number;
  readonly late: boolean;
  readonly transient: boolean;
  readonly dedupId: string | undefined;
}

export type SettleShape =
  | { readonly kind: 'ack' }
  | {
      readonly kind: 'nack';
      readonly to: 'origin' | 'tail';
      readonly delayMs: number;
      readonly uncounted: boolean;
    }
  | { readonly kind: 'reject' }
  | { readonly kind: 'extend'; readonly leaseMs: number }
  | { readonly kind: 'move' };

const name = (text: string): ChannelName => text as ChannelName;
const ALL = ['max-receives', 'expired', 'rejected', 'overflow'] as const;

/** The queues of every run. */
export const QUEUES: Readonly<Record<string, Partial<QueueSettings>>> = {
  plain: {
    deadLetter: { target: { channel: name('dead') }, maxReceiveCount: 2, reasons: ALL },
    dedupWindowMs: 500,
  },
  family: {
    subChannelMarks: ['.g.'],
    deadLetter: {
      target: { channel: name('deadFamily') },
      maxReceiveCount: 2,
      reasons: ['max-receives', 'rejected'],
    },
    dedupWindowMs: 300,
  },
  deadFamily: { subChannelMarks: ['.g.'], expiredLeaseTo: 'origin' },
  bounded: {
    maxLength: 3,
    deadLetter: { target: { route: 'test:routed' }, reasons: ['overflow', 'rejected', 'expired'] },
  },
  rejecting: {
    maxLength: 2,
    overflow: 'reject-dead-letter',
    deadLetter: { target: { route: 'test:routed' }, reasons: ['overflow'] },
  },
  boundedBytes: {
    maxLengthBytes: 150,
    deadLetter: { target: { channel: name('dead') }, reasons: ['overflow'] },
  },
  rejectingBytes: { maxLengthBytes: 120, overflow: 'reject' },
  levels: {
    maxPriority: 3,
    messageTtlMs: 900,
    deadLetter: { target: { channel: name('dead') }, reasons: ['expired'] },
  },
  memory: {
    durable: false,
    deadLetter: { target: { channel: name('dead') }, reasons: ['rejected', 'expired'] },
  },
  toMemory: { deadLetter: { target: { channel: name('memory') }, maxReceiveCount: 1, reasons: ALL } },
  dead: {},
  routed: {},
  late: {},
};

/** What `update` sets, by variant. */
export const VARIANTS: readonly Partial<QueueSettings>[] = [
  { deadLetter: undefined },
  { expiredLeaseTo: 'origin' },
  { messageTtlMs: 500 },
  { deadLetter: { target: { route: 'test:nowhere' }, reasons: ALL } },
];

const channel = fc.constantFrom(
  'plain',
  'plain',
  'family',
  'family.g.a',
  'family.g.a',
  'family.g.b',
  'family.g.c',
  'deadFamily',
  'bounded',
  'boundedBytes',
  'rejecting',
  'rejectingBytes',
  'levels',
  'memory',
  'toMemory',
  'dead',
  'nowhere',
);
const duration = (values: readonly number[]): fc.Arbitrary<number> => fc.constantFrom(...values);

const sendShape: fc.Arbitrary<SendShape> = fc.record({
  channel,
  bodyBytes: fc.oneof({ weight: 8, arbitrary: fc.nat(120) }, { weight: 1, arbitrary: fc.nat(3000) }),
  delayMs: duration([0, 0, 0, 100, 300]),
  expirationMs: duration([0, 0, 0, 200, 500]),
  priority: fc.nat(5),
  maxReceiveCount: duration([0, 0, 0, 1, 2]),
  late: fc.boolean(),
  transient: fc.oneof(
    { weight: 4, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  dedupId: fc.constantFrom(undefined, undefined, undefined, 'x', 'y'),
});

const settleShape: fc.Arbitrary<SettleShape> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'ack' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('nack' as const),
      to: fc.constantFrom('origin' as const, 'tail' as const),
      delayMs: duration([0, 0, 100, 400]),
      uncounted: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reject' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('extend' as const), leaseMs: duration([0, 200, 600]) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'move' as const }) },
);

const doing = <T extends string, R extends object>(
  what: T,
  fields: { [K in keyof R]: fc.Arbitrary<R[K]> },
): fc.Arbitrary<R & { do: T }> =>
  fc.record({ ...fields, do: fc.constant(what) }) as unknown as fc.Arbitrary<R & { do: T }>;

const calm: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  {
    weight: 14,
    arbitrary: doing('send', {
      batch: fc.array(sendShape, { minLength: 1, maxLength: 5 }),
      allOrNothing: fc.boolean(),
      early: fc.boolean(),
    }),
  },
  {
    weight: 12,
    arbitrary: doing('receive', {
      channel,
      max: fc.integer({ min: 1, max: 5 }),
      maxBytes: duration([0, 0, 150]),
      perSubChannelMax: duration([0, 0, 1, 2]),
      leaseMs: duration([-1, 0, 200, 200, 500]),
      waitMs: duration([0, 0, 0, 300]),
    }),
  },
  {
    weight: 12,
    arbitrary: doing('settle', {
      picks: fc.array(fc.nat(1000), { maxLength: 4 }),
      stale: fc.array(fc.nat(1000), { maxLength: 2 }),
      how: settleShape,
      durable: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: doing('tick', { count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: doing('abort', { pick: fc.nat(10) }) },
  {
    weight: 2,
    arbitrary: doing('consume', {
      channel,
      credit: fc.nat(3),
      priority: fc.nat(2),
      leaseMs: duration([-1, 0, 200]),
      early: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: doing('grant', { pick: fc.nat(10), credit: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: doing('cancel', { pick: fc.nat(10) }) },
  {
    weight: 1,
    arbitrary: doing('purge', {
      channel,
      ready: fc.boolean(),
      delayed: fc.boolean(),
      inFlight: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: doing('checkpoint', { wait: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'replay' as const }) },
];

const shape: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 1, arbitrary: doing('delete', { queue: fc.constantFrom(...Object.keys(QUEUES)) }) },
  {
    weight: 1,
    arbitrary: doing('update', {
      queue: fc.constantFrom(...Object.keys(QUEUES)),
      variant: fc.nat(VARIANTS.length - 1),
    }),
  },
];

const rough: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 3, arbitrary: fc.constant({ do: 'hold' as const }) },
  { weight: 3, arbitrary: doing('release', { fail: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'fail' as const }) },
  { weight: 3, arbitrary: doing('crash', { seed: fc.nat() }) },
];

/** Everything that a machine that stays up may see. */
export const calmSteps = fc.array(fc.oneof(...calm), { minLength: 1, maxLength: 60, size: 'max' });
/** With queues that come, go and change. */
export const shapingSteps = fc.array(fc.oneof(...calm, ...shape), {
  minLength: 1,
  maxLength: 60,
  size: 'max',
});
/** With commits that wait or fail, and power cuts. */
export const roughSteps = fc.array(fc.oneof(...calm, ...rough), { minLength: 1, maxLength: 60, size: 'max' });
