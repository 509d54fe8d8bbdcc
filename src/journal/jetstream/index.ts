import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Journal } from '../../core/ports/journal.js';
import { markMessage } from './committer.js';
import { readGroup } from './group.js';
import { JetStreamJournal } from './journal.js';
import type { JournalNames } from './names.js';
import { PublishError, type FencedStream } from './stream.js';

export { journalNames } from './names.js';
export { openNatsStream } from './nats-stream.js';

const DEFAULT_EXTENT_BYTES = 32 << 20;
const DEFAULT_GIVE_UP_MS = 10_000;
const DEFAULT_FRESH_BYTES_MAX = 64 << 20;
/** How often a mark is tried while others write theirs or nobody answers. */
const TRIES = 20;
const RETRY_MS = 200;

export interface JetStreamJournalOptions {
  readonly stream: FencedStream;
  readonly checkpoints: FencedStream;
  readonly names: JournalNames;
  /** Epoch of the claim this owner holds: an owner with an older one is refused. */
  readonly claim: number;
  /** Bytes of an extent, for a new journal; one that exists keeps its own. */
  readonly extentBytes?: number;
  readonly freshBytesMax?: number;
  /** `space().low` when the stream's own bound leaves less. */
  readonly minFreeBytes?: number;
  /** Without a word from the stream for that long, what waits is reported as lost. */
  readonly giveUpMs?: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly onDeposed?: (reason: string) => void;
}

/**
 * Takes the journal over: the mark that is written here fences every earlier owner, before anything is read. Rejects with
 * `precondition` when a later owner was here already, with `unavailable` when NATS does not answer.
 */
export async function openJetStreamJournal(options: JetStreamJournalOptions): Promise<Journal> {
  const { stream, names, claim, clock } = options;
  for (let tries = 1; ; tries++) {
    try {
      const before = await stream.last(names.mark);
      const header = before === undefined ? undefined : readGroup(before.payload);
      if (header !== undefined && header.claim > claim)
        throw new BrokerError('precondition', `the journal belongs to a later owner (claim ${header.claim})`);
      const extentBytes = header?.extentBytes ?? options.extentBytes ?? DEFAULT_EXTENT_BYTES;
      const mark = markMessage({ extentBytes, claim });
      const epoch = await stream.publish(names.mark, mark, { lastSubjectSeq: before?.seq ?? 0 });
      return new JetStreamJournal({
        ...options,
        extentBytes,
        epoch,
        freshBytesMax: options.freshBytesMax ?? DEFAULT_FRESH_BYTES_MAX,
        minFreeBytes: options.minFreeBytes ?? 0,
        giveUpMs: options.giveUpMs ?? DEFAULT_GIVE_UP_MS,
        onDeposed: options.onDeposed ?? (() => undefined),
      });
    } catch (error) {
      if (error instanceof BrokerError && error.kind === 'precondition') throw error;
      if (tries >= TRIES || (error instanceof PublishError && error.fault === 'full'))
        throw new BrokerError('unavailable', 'the journal cannot be taken over', { cause: error });
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
    }
  }
}
