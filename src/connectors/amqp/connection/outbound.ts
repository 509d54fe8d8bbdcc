import type { Duplex } from 'node:stream';
import type { Consumer } from '../channel/consumer.js';
import { AMQP_LIMITS } from '../config.js';
import { FrameWriter } from '../wire/frame-writer.js';

/**
 * The way out of a connection: what a turn wrote goes to the socket as one write, and consumers get credit back only while
 * the socket takes what they are given.
 */
export class Outbound {
  readonly writer = new FrameWriter();
  readonly #socket: Duplex;
  #scheduled = false;
  /** Consumers that acknowledged, or whose deliveries were written. */
  #due: Consumer[] = [];

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('drain', () => this.#giveCredit());
  }

  /** Bytes the socket has not taken yet. */
  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  creditDue(consumer: Consumer): void {
    if (this.#due.push(consumer) === 1) this.flushSoon();
  }

  flushSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  /** Writes now what was gathered. */
  flush(): void {
    const buffers = this.writer.take();
    const socket = this.#socket;
    if (!socket.writable) {
      this.#due = [];
      return;
    }
    if (buffers.length > 1) socket.cork();
    for (const buffer of buffers) socket.write(buffer);
    if (buffers.length > 1) socket.uncork();
    this.#giveCredit();
  }

  #giveCredit(): void {
    if (this.#due.length === 0 || this.#socket.writableLength > AMQP_LIMITS.socketBufferBytes) return;
    const due = this.#due;
    this.#due = [];
    for (const consumer of due) consumer.owner.giveBack(consumer);
  }
}
