import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { BEHIND, isBehind } from '../partition/backlog.js';
import { SLOT_BYTES } from './message-table.js';

// What objects take on the heap, measured with names of usual length and rounded up.
const QUEUE_BYTES = 2048;
const SUB_CHANNEL_BYTES = 512;
const EXTRAS_BYTES = 160;
const KEPT_MESSAGE_BYTES = 100;
const DEDUP_ID_BYTES = 700;

/** Decides whether messages may come in at all: sizes, space and memory. Settling and consuming are never held back. */
export class Admission {
  readonly #core: CoreContext;
  draining = false;
  /** Bytes that others hold for good: the registry. */
  otherBytes: () => number = () => 0;

  constructor(core: CoreContext) {
    this.#core = core;
  }

  /** About how much memory is held by what stays: messages, bodies kept off the journal, channels, dedup windows, the registry. */
  get memoryBytes(): number {
    const { table, directory, dedupIds } = this.#core.queues;
    const { families, byId } = directory;
    return (
      table.used * SLOT_BYTES +
      table.memoryBytes +
      table.memory.size * KEPT_MESSAGE_BYTES +
      table.extras.size * EXTRAS_BYTES +
      families * QUEUE_BYTES +
      (byId.size - families) * SUB_CHANNEL_BYTES +
      dedupIds.count * DEDUP_ID_BYTES +
      this.otherBytes()
    );
  }

  /** Why nothing more is taken now, or undefined. */
  shortage(): string | undefined {
    return this.#core.journal.shortage ?? this.#ownShortage();
  }

  #ownShortage(): string | undefined {
    if (this.memoryBytes > this.#core.limits.memoryBytesMax) return 'memory is nearly full';
    return isBehind(this.#core) ? BEHIND : undefined;
  }

  /** Whether a change of the registry or of channels may be made; `adds` when it does not only take away. A disk that is nearly full has room for it. */
  checkChange(adds: boolean): void {
    if (this.draining) throw new BrokerError('draining', 'the broker is shutting down');
    const shortage = adds ? this.#ownShortage() : isBehind(this.#core) ? BEHIND : undefined;
    if (shortage !== undefined) throw new BrokerError('unavailable', shortage);
  }

  /** Checks a batch; returns about how many bytes it takes. Throws `limit`, `unavailable`, `draining`. */
  check(messages: readonly OutgoingMessage[]): number {
    const { limits } = this.#core;
    if (this.draining) throw new BrokerError('draining', 'the broker is shutting down');
    if (messages.length > limits.batchMax) {
      throw new BrokerError('limit', `at most ${String(limits.batchMax)} messages a batch`);
    }
    const shortage = this.shortage();
    if (shortage !== undefined) throw new BrokerError('unavailable', shortage);
    let bytes = 0;
    for (const message of messages) {
      const size = messageBytes(message);
      if (size > limits.messageBytesMax) {
        throw new BrokerError('limit', `a message is at most ${String(limits.messageBytesMax)} bytes`);
      }
      bytes += size;
    }
    if (bytes > limits.batchBytesMax) {
      throw new BrokerError('limit', `a batch is at most ${String(limits.batchBytesMax)} bytes`);
    }
    return bytes;
  }
}

/** About what a message takes; texts counted as if every character were three bytes would overstate, so by length. */
function messageBytes(message: OutgoingMessage): number {
  let bytes = message.body.length + (message.origin?.bytes.length ?? 0) + (message.metadata?.length ?? 0);
  if (message.tags !== undefined && message.tags.size > 0) {
    for (const [key, value] of message.tags) bytes += key.length + value.length;
  }
  return bytes;
}
