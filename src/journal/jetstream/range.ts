import type { Clock } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { FencedStream, StoredMessage } from './stream.js';

/** Messages a read asks for ahead. */
const READS_IN_FLIGHT = 32;
/** How often something is asked again that nobody showed: longer than a server that was cut off takes to notice it. */
const TRIES = 60;
const RETRY_MS = 200;

export interface ReadParts {
  readonly stream: FencedStream;
  readonly clock: Clock;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Visits the messages of a range in order, all of them. Rejects with `unavailable` when no server shows what there is. */
export async function readRange(
  parts: ReadParts,
  { from, to }: Range,
  visit: (message: StoredMessage) => void,
): Promise<void> {
  for (let at = from; ;) {
    at = await readShown(parts, { from: at, to }, visit);
    if (at > to) return;
    const next = await patiently(parts, () => parts.stream.next(at));
    // Asked for again with the rest of the range.
    at = Math.max(at, next.seq);
  }
}

/** Likewise as far as servers show at once; the sequence it got to, below which all is visited. */
export async function readShown(
  { stream }: ReadParts,
  { from, to }: Range,
  visit: (message: StoredMessage) => void,
): Promise<number> {
  const asked: Promise<StoredMessage | undefined>[] = [];
  let at = from;
  let ahead = from;
  while (at <= to) {
    for (; asked.length < READS_IN_FLIGHT && ahead <= to; ahead++) asked.push(orNothing(stream.get(ahead)));
    const message = (await asked.shift()) ?? (await orNothing(stream.next(at)));
    if (message === undefined) return at;
    if (message.seq <= to) visit(message);
    // What was asked for in between is not there.
    void asked.splice(0, message.seq - at);
    at = message.seq + 1;
    ahead = Math.max(ahead, at);
  }
  return at;
}

/** The message at `seq`; undefined: it is not there. Rejects with `unavailable` when no server shows whether it is. */
export async function readMessage(
  { stream, clock }: ReadParts,
  seq: number,
  tries = TRIES,
): Promise<StoredMessage | undefined> {
  const look = async (): Promise<StoredMessage | undefined> =>
    (await stream.get(seq)) ?? (await stream.next(seq));
  const found = await patiently({ stream, clock }, look, tries);
  return found.seq === seq ? found : undefined;
}

/** Silence is for whoever asks again. */
function orNothing<T>(answer: Promise<T | undefined>): Promise<T | undefined> {
  return answer.catch(() => undefined);
}

async function patiently<T>(
  { clock }: ReadParts,
  ask: () => Promise<T | undefined>,
  triesMax = TRIES,
): Promise<T> {
  let cause: unknown;
  for (let tries = 1; ; tries++) {
    try {
      const found = await ask();
      if (found !== undefined) return found;
    } catch (error) {
      cause = error;
    }
    if (tries >= triesMax) break;
    await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
  }
  const why = cause === undefined ? 'no server shows what was stored' : 'NATS does not answer';
  throw new BrokerError('unavailable', why, { cause });
}
