import type { Duration } from '@bufbuild/protobuf/wkt';
import { invalidArgument } from './errors.js';

/** Bounds of message retention: 10 minutes to 31 days. */
export const RETENTION_SECONDS_MIN = 600;
export const RETENTION_SECONDS_MAX = 31 * 24 * 3600;

export interface DurationRule {
  /** Field it stands in, for the error. */
  readonly name: string;
  readonly minSeconds: number;
  readonly maxSeconds: number;
}

/** Checks a duration that may be absent; throws `invalid-argument`. */
export function checkDuration(duration: Duration | undefined, rule: DurationRule): void {
  if (duration === undefined) return;
  const seconds = durationMs(duration) / 1000;
  if (seconds >= rule.minSeconds && seconds <= rule.maxSeconds) return;
  throw invalidArgument(
    `Invalid ${rule.name} given (${rule.name}=${seconds}s). It must be between ${rule.minSeconds} and ` +
      `${rule.maxSeconds} seconds.`,
  );
}

export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
}
