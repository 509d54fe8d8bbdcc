import { latency, measure, noteOf, rate, type Measured } from './measure.js';
import type { BenchOptions } from './options.js';
import type { Row } from './report.js';
import type { LATENCY_MEASURES, WireMeasure } from './wire-measures.js';
import { polymq } from '../server/polymq.js';
import type { Contender } from '../server/server.js';

/** How long a peer's drain may take: its rate shows soon, and losses are our promise, not its. */
const PEER_DRAIN_SECONDS_MAX = 6;

const LATENCY_P50_MS_MAX = 2;
const LATENCY_P99_MS_MAX = 10;

export interface Measurement {
  readonly rows: readonly Row[];
  readonly details: readonly Measured[];
}

/** Everything is an echo server's or a peer's turn first: a broken figure of ours never hides theirs. */
export async function measureWire(wire: WireMeasure, options: BenchOptions): Promise<Measurement> {
  const measured = new Map<Contender, Measured>();
  const common = { wire: wire.wire, options, messagesMax: wire.messagesMax };
  for (const { contender, load } of wire.against) {
    if (measured.has(contender) || !wanted(contender, options)) continue;
    const request = { ...common, contender, load: load ?? wire.load };
    measured.set(contender, await measure({ ...request, drainSecondsMax: PEER_DRAIN_SECONDS_MAX }));
  }
  const contender = wire.ours ?? polymq;
  const ours = await measure({ ...common, contender, load: wire.load });
  const { bound } = wire;
  const rows = wire.phases.flatMap((title, phase): Row[] => {
    const base = { id: wire.id, measure: title, unit: 'msg/s', ours: rate(ours, phase) };
    const compared = wire.against.filter((one) => one.phase === phase && measured.has(one.contender));
    if (compared.length === 0) {
      const target =
        bound === undefined || phase > 0 ? undefined : ({ kind: 'at-least', value: bound } as const);
      const against = target === undefined ? 'nothing' : '';
      return [{ ...base, against, other: undefined, target, note: noteOf(ours, phase) }];
    }
    return compared.map((one): Row => {
      const other = measured.get(one.contender);
      return {
        ...base,
        against: one.contender.name,
        other: other === undefined ? undefined : rate(other, phase),
        target: one.atLeast === undefined ? undefined : { kind: 'at-least', value: one.atLeast },
        note: [noteOf(ours, phase), other === undefined ? '' : noteOf(other, phase)].join('; '),
      };
    });
  });
  return { rows, details: [...measured.values(), ours] };
}

type LatencyMeasure = (typeof LATENCY_MEASURES)[number];

export async function measureLatency(
  one: LatencyMeasure,
  deviceP99Ms: number,
  options: BenchOptions,
): Promise<Measurement> {
  const { load, wire, peer } = one;
  const theirs =
    peer !== undefined && wanted(peer, options)
      ? await measure({ contender: peer, load, wire, options })
      : undefined;
  const ours = await measure({ contender: 'ours' in one ? one.ours : polymq, load, wire, options });
  const peerNote =
    theirs === undefined
      ? ''
      : `; ${noteOf(theirs, 0)}, ${(latency(theirs, 0, 'p50') ?? Number.NaN).toFixed(2)} / ${(latency(theirs, 0, 'p99') ?? Number.NaN).toFixed(2)} ms`;
  const bounds = {
    p50: 'p50MsMax' in one ? one.p50MsMax : LATENCY_P50_MS_MAX,
    p99: LATENCY_P99_MS_MAX + deviceP99Ms,
  };
  const notes = {
    p50: noteOf(ours, 0) + peerNote,
    p99: `10 ms + fdatasync p99 of ${deviceP99Ms.toFixed(2)} ms`,
  };
  const rows = (['p50', 'p99'] as const).flatMap((which): Row[] => {
    const base = {
      id: one.id,
      measure: `${one.title} end-to-end at 200/s, ${which}`,
      unit: 'ms',
      ours: latency(ours, 0, which),
    };
    const bounded: Row = {
      ...base,
      against: '',
      other: undefined,
      target: { kind: 'at-most', value: Number(bounds[which].toFixed(2)) },
      note: notes[which],
    };
    if (theirs === undefined || !('noWorse' in one)) return [bounded];
    const other = latency(theirs, 0, which);
    return [bounded, { ...base, against: theirs.contender, other, target: { kind: 'at-most', value: 1 } }];
  });
  return { rows, details: theirs === undefined ? [ours] : [theirs, ours] };
}

/** Whether a contender takes part; echo servers always do. */
export function wanted(contender: Contender, options: BenchOptions): boolean {
  return contender.name.endsWith('-echo') || options.peers.includes(contender.name);
}
