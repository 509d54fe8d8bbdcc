import fc from 'fast-check';
import type { LogSettings, StartPosition } from '../../../src/core/log/types.js';

export type LogName = 'one' | 'two';

/** What a run does with its two logs. Numbers called `pick` choose among the readers there are. */
export type LogStep =
  | {
      readonly do: 'append';
      readonly events: readonly {
        readonly log: LogName;
        readonly kind: string;
        readonly bodyBytes: number;
      }[];
    }
  | { readonly do: 'tick'; readonly count: number }
  | {
      readonly do: 'subscribe';
      readonly log: LogName;
      readonly start: StartPosition;
      readonly durable: string | undefined;
    }
  | { readonly do: 'next'; readonly pick: number; readonly max: number }
  | { readonly do: 'close'; readonly pick: number }
  | { readonly do: 'retention'; readonly log: LogName; readonly variant: number }
  | { readonly do: 'take'; readonly max: number }
  | { readonly do: 'hold' }
  | { readonly do: 'release'; readonly fail: boolean }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'cold' }
  | { readonly do: 'replay' }
  | { readonly do: 'crash'; readonly seed: number };

export const RETENTIONS: readonly Partial<LogSettings>[] = [
  { retentionCount: 3 },
  { retentionMs: 500 },
  { retentionBytes: 300 },
  { retentionCount: 0, retentionMs: 0, retentionBytes: 0 },
];

const log = fc.constantFrom('one' as const, 'two' as const);
/** Times count back from now here. */
const start: fc.Arbitrary<StartPosition> = fc.oneof(
  fc.constantFrom({ from: 'new' as const }, { from: 'first' as const }, { from: 'last' as const }),
  fc.record({ from: fc.constant('sequence' as const), sequence: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ from: fc.constant('delta' as const), deltaMs: fc.constantFrom(0, 100, 400) }),
);

const event = fc.record({
  log,
  kind: fc.constantFrom('a', 'b', 'c'),
  bodyBytes: fc.oneof({ weight: 8, arbitrary: fc.nat(120) }, { weight: 1, arbitrary: fc.nat(3000) }),
});

export const logSteps: fc.Arbitrary<LogStep[]> = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('append' as const),
        events: fc.array(event, { minLength: 1, maxLength: 4 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('tick' as const), count: fc.integer({ min: 1, max: 3 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('subscribe' as const),
        log,
        start,
        durable: fc.constantFrom(undefined, 'x', 'y'),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('next' as const),
        pick: fc.nat(10),
        max: fc.integer({ min: 1, max: 5 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), pick: fc.nat(10) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('retention' as const),
        log,
        variant: fc.nat(RETENTIONS.length - 1),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('take' as const), max: fc.integer({ min: 1, max: 5 }) }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'hold' as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), fail: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constantFrom({ do: 'checkpoint' as const }, { do: 'cold' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'replay' as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), seed: fc.nat() }) },
  ),
  { minLength: 1, maxLength: 60, size: 'max' },
);
