import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { SLOT_BYTES } from './message-table.js';

/** Decides whether messages may come in at all: sizes, space and memory. Settling and consuming are never held back. */
export class Admission {
  readonly #core: CoreContext;
  draining = false;

  constructor(core: CoreContext) {
    this.#core = core;
  }

  /** Bytes of the message table and of bodies kept off the journal. */
  get memoryBytes(): number {
    const { table } = this.#core.queues;
    return table.used * SLOT_BYTES + table.memoryBytes;
  }

  /** Why nothing more is taken now, or undefined. */
  shortage(): string | undefined {
    const { shortage } = this.#core.journal.space();
    if (shortage !== undefined) return shortage;
    if (this.memoryBytes > this.#core.limits.memoryBytesMax) return 'memory is nearly full';
    return undefined;
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
