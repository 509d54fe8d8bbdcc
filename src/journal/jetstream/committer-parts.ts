import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { Batch } from './batch.js';
import type { JournalNames } from './names.js';
import type { FencedStream } from './stream.js';

export interface CommitterParts {
  readonly stream: FencedStream;
  readonly names: JournalNames;
  readonly extentBytes: number;
  readonly claim: number;
  /** Without a word from the stream for that long, what waits is reported as lost. */
  readonly giveUpMs: number;
  /** Sequence of this writer's mark, which is the last of the log. */
  readonly epoch: number;
  readonly logEnd: Position;
  readonly clock: Clock;
  /** A clock that nobody moves, in ms. */
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Part of the log from now on, in order. */
  readonly stored: (batch: Batch) => void;
  /** Everything below is part of the log. */
  readonly committed: (below: Position) => void;
  /** Nothing is under way any more: what was not committed is not part of the log. Until `resumed` nothing may be handed in. */
  readonly failed: (error: BrokerError) => void;
  /** Another batch may be handed in, though nothing more is committed: the parts of a large entry count together. */
  readonly roomCame: () => void;
  readonly resumed: () => void;
  /** Another writer has the log: nothing is ever committed again. Comes before `failed`. */
  readonly deposed: (reason: string) => void;
}
