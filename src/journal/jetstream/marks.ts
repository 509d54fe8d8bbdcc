import type { Clock } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import { ANYWHERE, GROUP_HEADER_BYTES, GroupKind, readGroup, stampGroup } from './group.js';
import { LaterOwner } from './later-owner.js';
import type { JournalNames } from './names.js';
import type { Mark } from './replay.js';
import { PublishError, type FencedStream } from './stream.js';

const DEFAULT_EXTENT_BYTES = 32 << 20;
/** How often a mark is tried while others write theirs or nobody answers. */
const TRIES = 20;
const RETRY_MS = 200;

export interface MarkOptions {
  readonly stream: FencedStream;
  readonly names: JournalNames;
  readonly extentBytes?: number;
  readonly clock: Clock;
}

/** A mark; `prev` ANYWHERE leaves the end of the log to what is stored. */
export function markMessage(mark: { extentBytes: number; claim: number; prev?: Position }): Buffer {
  const message = Buffer.alloc(GROUP_HEADER_BYTES);
  const { extentBytes, claim, prev = ANYWHERE } = mark;
  stampGroup(message, { kind: GroupKind.mark, extentBytes, epoch: 0, start: 0, prev, claim });
  return message;
}

/** The mark of an owner that begins: by compare-and-set, so a server that is behind can hide no other's. */
export async function writeMark(
  options: MarkOptions,
  claim: number,
  life: { readonly isOver: boolean },
): Promise<Mark & { readonly extentBytes: number }> {
  const { stream, names, clock } = options;
  for (let tries = 1; ; tries++) {
    try {
      const before = await stream.last(names.mark);
      if (life.isOver) throw closedWhileFollowing();
      const header = before === undefined ? undefined : readGroup(before.payload);
      if (header !== undefined && header.claim > claim) throw new LaterOwner('the journal belongs');
      const extentBytes = header?.extentBytes ?? options.extentBytes ?? DEFAULT_EXTENT_BYTES;
      const mark = markMessage({ extentBytes, claim });
      const epoch = await stream.publish(names.mark, mark, { lastSubjectSeq: before?.seq ?? 0 });
      return { claim, epoch, extentBytes };
    } catch (error) {
      if (error instanceof LaterOwner || (error instanceof BrokerError && error.kind === 'draining'))
        throw error;
      if (tries >= TRIES || (error instanceof PublishError && error.fault === 'full'))
        throw new BrokerError('unavailable', 'the journal cannot be taken over', { cause: error });
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
    }
  }
}

export interface RenewedMark {
  readonly extentBytes: number;
  readonly claim: number;
  /** Where the log ends. */
  readonly prev: Position;
  /** Sequence of this writer's mark before. */
  readonly before: number;
}

/** Another mark of the same owner, once; whose mark is there now. Undefined: not known. */
export async function renewMark(
  stream: FencedStream,
  names: JournalNames,
  mark: RenewedMark,
): Promise<{ readonly seq: number; readonly isOwn: boolean } | undefined> {
  const message = markMessage(mark);
  try {
    return { seq: await stream.publish(names.mark, message, { lastSubjectSeq: mark.before }), isOwn: true };
  } catch (error) {
    if (!(error instanceof PublishError) || error.fault !== 'conflict') return undefined;
  }
  const found = await stream.last(names.mark).catch(() => undefined);
  if (found === undefined || found.seq <= mark.before) return undefined;
  // This writer's own, whose answer was lost, says the same. There is one at most: it expects the one before.
  return { seq: found.seq, isOwn: Buffer.compare(found.payload, message) === 0 };
}

export function closedWhileFollowing(): BrokerError {
  return new BrokerError('draining', 'the journal was closed while it followed');
}
