import type { Clock } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { LogReader } from './log-reader.js';
import { readRange, readShown } from './range.js';
import type { FencedStream, StoredMessage } from './stream.js';

/** How often a node that follows looks for more. */
const FOLLOW_MS = 100;
/** How often the newest checkpoint is asked for, when the log does not fit together: the server that answers may not know it yet. */
const LOOKS = 60;
const LOOK_MS = 200;

/** An owner's beginning: the epoch of its claim, and the sequence of the mark that was written for it. */
export interface Mark {
  readonly claim: number;
  readonly epoch: number;
}

export interface ReplayParts {
  readonly stream: FencedStream;
  /** Resolves when this owner has written its mark: nobody else's entries follow. Until then a replay goes on. */
  readonly takenOver: Promise<Mark>;
  /** Entries below this are needed by no checkpoint, as the stream says now. */
  readonly oldestCheckpoint: () => Promise<Position>;
  readonly clock: Clock;
  /** While this one follows: how many messages of the stream it had not read yet. */
  readonly onFollow: ((lag: number) => void) | undefined;
}

/** Reads the log up to this owner's mark: until that is there, what the owner of the time writes. */
export class Replay {
  readonly #p: ReplayParts;
  readonly #reader: LogReader;
  #next: number;

  /** `from`: the sequence it begins with. */
  constructor(parts: ReplayParts, reader: LogReader, from: number) {
    this.#p = parts;
    this.#reader = reader;
    this.#next = from;
  }

  async run(): Promise<Mark> {
    try {
      await this.#follow();
      const mark = await this.#p.takenOver;
      // Its own mark is there, so everything in front of it can be shown.
      await readRange(this.#p, { from: this.#next, to: mark.epoch }, (message) => this.#take(message));
      this.#reader.finish();
      return mark;
    } catch (error) {
      // What was purged unread looks like damage.
      if (isInternal(error) && (await this.#isBehindByNow())) throw lostWay();
      throw error;
    }
  }

  async #follow(): Promise<void> {
    const { stream, takenOver, clock, onFollow } = this.#p;
    const state = { isOver: false };
    const over = takenOver.then(
      () => void (state.isOver = true),
      () => void (state.isOver = true),
    );
    // A turn later: one that has taken over already has nobody to follow.
    await Promise.resolve();
    while (!state.isOver) {
      try {
        const last = await stream.lastSeq();
        onFollow?.(Math.max(0, last + 1 - this.#next));
        this.#next = await readShown(this.#p, { from: this.#next, to: last }, (message) =>
          this.#take(message),
        );
        if (this.#reader.strays > 0 && (await this.#isBehind())) throw lostWay();
      } catch (error) {
        // Silence is waited out; what does not fit together is not.
        if (error instanceof LostWay || isInternal(error)) throw error;
      }
      await Promise.race([over, new Promise<void>((resolve) => clock.after(FOLLOW_MS, resolve))]);
    }
  }

  #take(message: StoredMessage): void {
    this.#reader.take(message);
    this.#next = message.seq + 1;
  }

  async #isBehind(): Promise<boolean> {
    return this.#reader.end < (await this.#p.oldestCheckpoint());
  }

  async #isBehindByNow(): Promise<boolean> {
    for (let looks = 1; !(await this.#isBehind().catch(() => false)); looks++) {
      if (looks >= LOOKS) return false;
      await new Promise<void>((resolve) => this.#p.clock.after(LOOK_MS, resolve));
    }
    return true;
  }
}

function isInternal(error: unknown): boolean {
  return error instanceof BrokerError && error.kind === 'internal';
}

/** Messages that this node had not read were purged behind checkpoints: it has to begin with one of these. */
class LostWay extends BrokerError {}

export function lostWay(): BrokerError {
  return new LostWay('unavailable', 'this node fell behind what the journal still holds');
}
