import type { Socket } from 'node:net';
import {
  ackFrame,
  BODY,
  CHANNEL,
  frame,
  FRAME_END,
  FRAME_EXTRA_BYTES,
  FRAME_HEAD_BYTES,
  HEADER,
  HEARTBEAT,
  longText,
  METHOD,
  methodPayload,
  readTag,
  reserved,
  shortText,
  table,
} from './amqp-frames.js';
import { Inbox, openSocket, TurnWriter } from './socket.js';

const DELIVER = 60 * 65_536 + 60;
const BASIC_ACK = 60 * 65_536 + 80;
const BASIC_NACK = 60 * 65_536 + 120;
const BASIC_CANCEL = 60 * 65_536 + 30;
const CHANNEL_CLOSE = 20 * 65_536 + 40;
const CONNECTION_CLOSE = 10 * 65_536 + 50;

export interface AmqpDelivery {
  readonly tag: number;
  readonly redelivered: boolean;
  /** Valid during the call only when it came in one frame. */
  readonly body: Uint8Array;
}

export interface AmqpHandlers {
  readonly onConfirm?: (tag: number, multiple: boolean, ok: boolean) => void;
  readonly onDelivery?: (delivery: AmqpDelivery) => void;
  readonly onClose?: (reason: string) => void;
}

export interface AmqpOptions extends AmqpHandlers {
  readonly port: number;
  /** Default: the loopback. */
  readonly host?: string;
  readonly vhost?: string;
  readonly user?: string;
  readonly password?: string;
}

interface Waiter {
  readonly method: number;
  readonly resolve: (args: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** Class and method of what is asked, and of its answer. */
type MethodPair = readonly [number, number, number, number];

/** One AMQP 0-9-1 connection with one channel, on a frame layer of its own. */
export class AmqpConnection {
  readonly #socket: Socket;
  readonly #out: TurnWriter;
  readonly #inbox = new Inbox();
  readonly #handlers: AmqpHandlers;
  #waiter: Waiter | undefined;
  #failure: string | undefined;
  #tag = 0;
  #redelivered = false;
  #bodyLeft = 0;
  #bodyParts: Buffer[] = [];

  private constructor(socket: Socket, handlers: AmqpHandlers) {
    this.#socket = socket;
    this.#out = new TurnWriter(socket);
    this.#handlers = handlers;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error.message));
    socket.on('close', () => this.#fail('the server closed the connection'));
  }

  /** Connects, logs in with PLAIN and opens channel 1. */
  static async open(options: AmqpOptions): Promise<AmqpConnection> {
    const connection = new AmqpConnection(await openSocket(options.port, options.host), options);
    const user = options.user ?? 'guest';
    const start = connection.#expect(10, 10);
    connection.#out.write(Buffer.from([65, 77, 81, 80, 0, 0, 9, 1]));
    await start;
    const tune = connection.#expect(10, 30);
    const response = longText(`\0${user}\0${options.password ?? user}`);
    connection.#method(0, 10, 11, [table(), shortText('PLAIN'), response, shortText('en_US')]);
    const limits = await tune;
    connection.#method(0, 10, 31, [Buffer.concat([limits.subarray(0, 6), Buffer.from([0, 0])])]);
    await connection.#call(0, [10, 40, 10, 41], [shortText(options.vhost ?? '/'), Buffer.from([0, 0])]);
    await connection.#call(CHANNEL, [20, 10, 20, 11], [shortText('')]);
    return connection;
  }

  /** Asks for a confirm of every publish. */
  async confirmSelect(): Promise<void> {
    await this.#call(CHANNEL, [85, 10, 85, 11], [Buffer.from([0])]);
  }

  /** Declares a queue that outlives restarts; with `passive` only looks. Resolves with its message count. */
  async declareQueue(name: string, passive = false): Promise<number> {
    const bits = passive ? 1 : 2;
    const answer = await this.#call(
      CHANNEL,
      [50, 10, 50, 11],
      [reserved(), shortText(name), Buffer.from([bits]), table()],
    );
    return answer.readUInt32BE(1 + (answer[0] ?? 0));
  }

  /** Declares an exchange that outlives restarts. */
  async declareExchange(name: string, type: 'fanout' | 'topic'): Promise<void> {
    await this.#call(
      CHANNEL,
      [40, 10, 40, 11],
      [reserved(), shortText(name), shortText(type), Buffer.from([2]), table()],
    );
  }

  async deleteExchange(name: string): Promise<void> {
    await this.#call(CHANNEL, [40, 20, 40, 21], [reserved(), shortText(name), Buffer.from([0])]);
  }

  /** Binds without an answer: whatever is asked next is answered behind it. */
  bindQueue(queue: string, exchange: string, key: string): void {
    const args = [
      reserved(),
      shortText(queue),
      shortText(exchange),
      shortText(key),
      Buffer.from([1]),
      table(),
    ];
    this.#method(CHANNEL, 50, 20, args);
  }

  async deleteQueue(name: string): Promise<void> {
    await this.#call(CHANNEL, [50, 40, 50, 41], [reserved(), shortText(name), Buffer.from([0])]);
  }

  async purgeQueue(name: string): Promise<number> {
    const answer = await this.#call(
      CHANNEL,
      [50, 30, 50, 31],
      [reserved(), shortText(name), Buffer.from([0])],
    );
    return answer.readUInt32BE(0);
  }

  async prefetch(count: number): Promise<void> {
    await this.#call(CHANNEL, [60, 10, 60, 11], [Buffer.from([0, 0, 0, 0, count >> 8, count & 255, 0])]);
  }

  async consume(queue: string): Promise<void> {
    await this.#call(
      CHANNEL,
      [60, 20, 60, 21],
      [reserved(), shortText(queue), shortText('bench'), Buffer.from([0]), table()],
    );
  }

  /** Queues bytes made by `publishTemplate`; they must not change any more. */
  publish(frames: Uint8Array): void {
    this.#out.write(frames);
  }

  ack(tag: number, multiple = false): void {
    this.#out.write(ackFrame(tag, multiple));
  }

  /** Resolves when the server has taken nearly all that was written: how a publisher without confirms is held back. */
  async drained(): Promise<void> {
    this.#out.flush();
    if (!this.#socket.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#socket.off('drain', done).off('close', done);
        resolve();
      };
      this.#socket.once('drain', done).once('close', done);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #call(
    channel: number,
    [classId, methodId, answerClass, answerMethod]: MethodPair,
    args: Buffer[],
  ): Promise<Buffer> {
    const answer = this.#expect(answerClass, answerMethod);
    this.#method(channel, classId, methodId, args);
    return answer;
  }

  #expect(classId: number, methodId: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) reject(new Error(this.#failure));
      else this.#waiter = { method: classId * 65_536 + methodId, resolve, reject };
    });
  }

  #method(channel: number, classId: number, methodId: number, args: Buffer[]): void {
    this.#out.write(frame(METHOD, channel, methodPayload(classId, methodId, args)));
  }

  #take(chunk: Buffer): void {
    const inbox = this.#inbox;
    inbox.add(chunk);
    while (inbox.left >= FRAME_EXTRA_BYTES) {
      const { bytes, at } = inbox;
      const size = bytes.readUInt32BE(at + 3);
      if (inbox.left < FRAME_EXTRA_BYTES + size) break;
      const start = at + FRAME_HEAD_BYTES;
      inbox.at = at + FRAME_EXTRA_BYTES + size;
      if (bytes[start + size] !== FRAME_END) {
        this.#fail(`a frame without its end byte; it begins ${bytes.toString('latin1', at, at + 40)}`);
        this.#socket.destroy();
        return;
      }
      this.#frame(bytes[at] ?? 0, bytes.subarray(start, start + size));
    }
  }

  #frame(type: number, payload: Buffer): void {
    if (type === METHOD) {
      this.#incoming(payload.readUInt32BE(0), payload);
    } else if (type === HEADER) {
      this.#bodyLeft = payload.readUInt32BE(8);
      this.#bodyParts = [];
      if (this.#bodyLeft === 0) this.#delivered(Buffer.alloc(0));
    } else if (type === BODY) {
      this.#bodyLeft -= payload.length;
      this.#bodyParts.push(payload);
      if (this.#bodyLeft > 0) return;
      this.#delivered(this.#bodyParts.length === 1 ? payload : Buffer.concat(this.#bodyParts));
    } else if (type === HEARTBEAT) {
      this.#out.write(frame(HEARTBEAT, 0, Buffer.alloc(0)));
    }
  }

  #delivered(body: Uint8Array): void {
    this.#handlers.onDelivery?.({ tag: this.#tag, redelivered: this.#redelivered, body });
  }

  #incoming(method: number, payload: Buffer): void {
    switch (method) {
      case DELIVER: {
        const at = 5 + (payload[4] ?? 0);
        this.#tag = readTag(payload, at);
        this.#redelivered = ((payload[at + 8] ?? 0) & 1) !== 0;
        return;
      }
      case BASIC_ACK:
      case BASIC_NACK:
        this.#handlers.onConfirm?.(readTag(payload, 4), ((payload[12] ?? 0) & 1) !== 0, method === BASIC_ACK);
        return;
      case CHANNEL_CLOSE:
      case CONNECTION_CLOSE:
        this.#fail(
          `closed: ${String(payload.readUInt16BE(4))} ${payload.toString('utf8', 7, 7 + (payload[6] ?? 0))}`,
        );
        return;
      case BASIC_CANCEL:
        this.#fail('the consumer was cancelled');
        return;
      default: {
        const waiter = this.#waiter;
        if (waiter?.method !== method) return;
        this.#waiter = undefined;
        waiter.resolve(Buffer.from(payload.subarray(4)));
      }
    }
  }

  #fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#waiter?.reject(new Error(reason));
    this.#waiter = undefined;
    this.#handlers.onClose?.(reason);
  }
}
