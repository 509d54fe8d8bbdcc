import { AttributeFault } from './attribute-fault.js';
import { jsonMap } from './topic-policy.js';

/** `Pending`: it has not begun. `Completed`: all was replayed. `Failed`: there is no archive any more. */
export type ReplayStatus = 'Pending' | 'In progress' | 'Completed' | 'Failed';

/** How far a subscription's replay is, kept beside its ReplayPolicy. */
export interface Replay {
  /** New whenever a policy is set: that begins anew. */
  readonly id: string;
  readonly status: ReplayStatus;
}

/** What a ReplayPolicy asks for, Unix ms. */
export interface ReplaySpan {
  readonly from: number;
  /** Absent: up to now, and new messages follow. */
  readonly until: number | undefined;
}

const KEYS: ReadonlySet<string> = new Set(['PointType', 'StartingPoint', 'EndingPoint']);
/** ISO 8601 with a zone; seconds may have a fraction. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$/;

/** The normal form of a ReplayPolicy; '' for none. Throws AttributeFault. */
export function readReplayPolicy(
  value: string,
  { archived, now }: { readonly archived: boolean; readonly now: number },
): string {
  if (value === '') return '';
  const policy = jsonMap(value);
  if (policy === undefined) throw new AttributeFault('failed to parse JSON.');
  if (Object.keys(policy).length === 0) return '';
  const unknown = Object.keys(policy).find((key) => !KEYS.has(key));
  if (unknown !== undefined) throw new AttributeFault(`Attribute ${unknown.slice(0, 100)} is unknown.`);
  if (policy['PointType'] !== 'Timestamp') throw new AttributeFault('PointType must be Timestamp.');
  const from = pointOf('StartingPoint', policy['StartingPoint']);
  if (from > now) throw new AttributeFault('StartingPoint must not be in the future.');
  if (policy['EndingPoint'] !== undefined && pointOf('EndingPoint', policy['EndingPoint']) <= from) {
    throw new AttributeFault('EndingPoint must be later than StartingPoint.');
  }
  if (!archived) throw new AttributeFault('the topic has no ArchivePolicy.');
  return JSON.stringify(policy);
}

function pointOf(name: string, value: unknown): number {
  const time = typeof value === 'string' && TIMESTAMP.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw new AttributeFault(`${name} must be a timestamp in ISO 8601.`);
  return time;
}

/** The span of a policy in normal form. */
export function replaySpan(policy: string): ReplaySpan {
  const { StartingPoint, EndingPoint } = jsonMap(policy) ?? {};
  return {
    from: pointOf('StartingPoint', StartingPoint),
    until: EndingPoint === undefined ? undefined : pointOf('EndingPoint', EndingPoint),
  };
}

/** Whether a replay is still to be done. */
export function isUnderWay(replay: Replay | undefined): boolean {
  return replay?.status === 'Pending' || replay?.status === 'In progress';
}
