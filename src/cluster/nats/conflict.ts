import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';

/** A compare-and-set found another revision than it was told. */
export function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence;
}
