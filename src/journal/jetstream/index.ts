import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { deferred } from '../../base/deferred.js';
import type { Journal } from '../../core/ports/journal.js';
import { readGroup } from './group.js';
import { JetStreamJournal, type JetStreamJournalParts } from './journal.js';
import type { JournalNames } from './names.js';
import { closedWhileFollowing, writeMark } from './marks.js';
import type { FencedStream } from './stream.js';

export { journalNames } from './names.js';
export { openNatsStream } from './nats-stream.js';

const DEFAULT_GIVE_UP_MS = 10_000;
const DEFAULT_FRESH_BYTES_MAX = 64 << 20;

export interface JetStreamJournalOptions {
  readonly stream: FencedStream;
  readonly checkpoints: FencedStream;
  readonly names: JournalNames;
  /** Epoch of the claim this owner holds, or is to hold: an owner with an older one is refused. */
  readonly claim: number | Promise<number>;
  /** Bytes of an extent, for a new journal; one that exists keeps its own. */
  readonly extentBytes?: number;
  readonly freshBytesMax?: number;
  /** A shortage of space when the stream's own bound leaves less. */
  readonly minFreeBytes?: number;
  /** Without a word from the stream for that long, what waits is reported as lost. */
  readonly giveUpMs?: number;
  readonly clock: Clock;
  /** A clock that no operator and no time server moves, in ms. */
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly onFollow?: (lag: number) => void;
  readonly onDeposed?: (reason: string) => void;
}

/**
 * Opens the journal. With a claim, takes it over: the mark that is written here fences every earlier owner, before anything is read. With
 * the promise of one, follows it: the mark is written when the claim is there, which ends the replay. Rejects with `unavailable` when a
 * later owner was here already, or NATS does not answer; what happens to one who follows, its replay tells.
 */
export async function openJetStreamJournal(options: JetStreamJournalOptions): Promise<Journal> {
  const { stream, names, claim } = options;
  if (typeof claim === 'number') return take(options, claim);
  // Heard below or by the replay, however early it fails.
  claim.catch(() => undefined);
  const mark = await stream.last(names.mark);
  const header = mark === undefined ? undefined : readGroup(mark.payload);
  // Nobody has written anything that could be followed.
  if (header === undefined) return take(options, await claim);
  // One that is closed while it follows must not write its mark later: the node's next one would be deposed by it.
  const closed = deferred<never>();
  const life = { isOver: false };
  const takenOver = Promise.race([claim, closed.promise]).then((epoch) => writeMark(options, epoch, life));
  takenOver.catch(() => undefined);
  const onClose = (): void => {
    life.isOver = true;
    closed.reject(closedWhileFollowing());
  };
  return journalOf(options, header.extentBytes, { takenOver, onClose });
}

async function take(options: JetStreamJournalOptions, claim: number): Promise<Journal> {
  const mark = await writeMark(options, claim, { isOver: false });
  return journalOf(options, mark.extentBytes, { takenOver: Promise.resolve(mark), onClose: () => undefined });
}

function journalOf(
  options: JetStreamJournalOptions,
  extentBytes: number,
  life: Pick<JetStreamJournalParts, 'takenOver' | 'onClose'>,
): Journal {
  return new JetStreamJournal({
    ...options,
    extentBytes,
    ...life,
    freshBytesMax: options.freshBytesMax ?? DEFAULT_FRESH_BYTES_MAX,
    minFreeBytes: options.minFreeBytes ?? 0,
    giveUpMs: options.giveUpMs ?? DEFAULT_GIVE_UP_MS,
    onFollow: options.onFollow,
    onDeposed: options.onDeposed ?? (() => undefined),
  });
}
