import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { encodeMethod, decodeMethod } from '../../src/connectors/amqp/wire/method-codec.js';
import type { MethodArgs, MethodName } from '../../src/connectors/amqp/wire/methods.js';
import type { FieldTable, FieldValue } from '../../src/connectors/amqp/wire/field-table.js';
import { EMPTY_TABLE } from '../../src/connectors/amqp/wire/field-table.js';
import { describeMethod, describeProperties } from './amqp-texts.js';
import { decodeProperties, encodeProperties } from '../../src/connectors/amqp/wire/properties.js';
import type { Properties } from '../../src/connectors/amqp/wire/properties.js';

export interface RawFrame {
  readonly type: number;
  readonly channel: number;
  readonly payload: Buffer;
}

/** One frame as bytes. */
export function frame(type: number, channel: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(7);
  head[0] = type;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

export function methodFrame<N extends MethodName>(channel: number, name: N, args: MethodArgs<N>): Buffer {
  return frame(1, channel, encodeMethod(name, args));
}

/** A content header and its bodies. */
export function contentFrames(
  channel: number,
  body: Buffer,
  properties: Properties = {},
  split = 100_000,
): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(60, 0);
  fixed.writeUInt32BE(body.length, 8);
  const frames = [frame(2, channel, Buffer.concat([fixed, encodeProperties(properties)]))];
  for (let at = 0; at < body.length; at += split)
    frames.push(frame(3, channel, body.subarray(at, at + split)));
  return Buffer.concat(frames);
}

/** A field table of plain values: integers, booleans and texts. */
export function table(
  values: Readonly<Record<string, number | boolean | string | readonly string[]>>,
): FieldTable {
  const field = (value: number | boolean | string | readonly string[]): FieldValue => {
    if (typeof value === 'number') return { tag: 'I', value };
    if (typeof value === 'boolean') return { tag: 't', value };
    if (typeof value === 'string') return { tag: 'S', value: Buffer.from(value) };
    return { tag: 'A', value: value.map(field) };
  };
  return new Map(Object.entries(values).map(([key, value]) => [key, field(value)]));
}

const DEFAULTS = {
  declareQueue: {
    ticket: 0,
    queue: '',
    passive: false,
    durable: false,
    exclusive: false,
    autoDelete: false,
    nowait: false,
    arguments: EMPTY_TABLE,
  },
  declareExchange: {
    ticket: 0,
    exchange: '',
    type: 'direct',
    passive: false,
    durable: false,
    autoDelete: false,
    internal: false,
    nowait: false,
    arguments: EMPTY_TABLE,
  },
  consume: {
    ticket: 0,
    queue: '',
    consumerTag: '',
    noLocal: false,
    noAck: false,
    exclusive: false,
    nowait: false,
    arguments: EMPTY_TABLE,
  },
} as const;

/** How long an answer may take, and how long silence is waited for. */
const ANSWER_MS = 5_000;
const SILENCE_MS = 150;

interface Wait {
  readonly resolve: (text: string) => void;
}

/**
 * An AMQP client that sends what it is told, right or wrong, and tells what comes back as text: `queue.declare-ok …`,
 * `CH 404 …` for channel.close, `CONN 503 …` for connection.close, `EOF` when the socket ended.
 */
export class RawAmqp {
  readonly socket: Socket;
  /** Bytes of the largest frame that came, all of it. */
  largestFrame = 0;
  readonly #answers: string[] = [];
  readonly #waits: Wait[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #content: { head: string; size: number; got: number; body: Buffer[]; properties: Properties } | undefined;
  #ended = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#ended = true;
      this.#say('EOF');
    });
  }

  /** A TCP connection with nothing said on it. */
  static async dial(port: number): Promise<RawAmqp> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const raw = new RawAmqp(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return raw;
  }

  /** An open connection with channel 1, unless `channel` is false. */
  static async open(
    port: number,
    options: {
      readonly vhost?: string;
      readonly channel?: boolean;
      readonly frameMax?: number;
      readonly channelMax?: number;
      readonly capabilities?: FieldTable;
      readonly heartbeat?: number;
      /** User and password; `guest` for both. */
      readonly user?: readonly [string, string];
    } = {},
  ): Promise<RawAmqp> {
    const raw = await RawAmqp.dial(port);
    raw.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1'));
    await raw.answer();
    raw.login({
      capabilities:
        options.capabilities ??
        table({
          consumer_cancel_notify: true,
          'basic.nack': true,
          authentication_failure_close: true,
          'connection.blocked': true,
        }),
      ...(options.user && { response: Buffer.from(`\0${options.user.join('\0')}`) }),
    });
    const tuned = await raw.answer();
    if (!tuned.startsWith('connection.tune')) {
      raw.#answers.unshift(tuned);
      return raw;
    }
    raw.send(0, 'connection.tune-ok', {
      channelMax: options.channelMax ?? 2047,
      frameMax: options.frameMax ?? 131_072,
      heartbeat: options.heartbeat ?? 0,
    });
    raw.send(0, 'connection.open', { virtualHost: options.vhost ?? '/', reserved1: '', reserved2: false });
    const opened = await raw.answer();
    if (!opened.startsWith('connection.open-ok')) raw.#answers.unshift(opened);
    else if (options.channel !== false) await raw.call(1, 'channel.open', { reserved1: '' });
    return raw;
  }

  login(options: {
    readonly capabilities: FieldTable;
    readonly mechanism?: string;
    readonly response?: Buffer;
  }): void {
    this.send(0, 'connection.start-ok', {
      clientProperties: new Map<string, FieldValue>([
        ['capabilities', { tag: 'F', value: options.capabilities }],
      ]),
      mechanism: options.mechanism ?? 'PLAIN',
      response: options.response ?? Buffer.from('\0guest\0guest'),
      locale: 'en_US',
    });
  }

  write(bytes: Uint8Array): void {
    if (!this.#ended) this.socket.write(bytes);
  }

  send<N extends MethodName>(channel: number, name: N, args: MethodArgs<N>): void {
    this.write(methodFrame(channel, name, args));
  }

  /** Sends and gives the next answer. */
  async call<N extends MethodName>(channel: number, name: N, args: MethodArgs<N>): Promise<string> {
    this.send(channel, name, args);
    return this.answer();
  }

  publish(
    routingKey: string,
    body: string,
    options: {
      readonly channel?: number;
      readonly exchange?: string;
      readonly mandatory?: boolean;
      readonly immediate?: boolean;
      readonly properties?: Properties;
    } = {},
  ): void {
    const channel = options.channel ?? 1;
    const method = methodFrame(channel, 'basic.publish', {
      ticket: 0,
      exchange: options.exchange ?? '',
      routingKey,
      mandatory: options.mandatory ?? false,
      immediate: options.immediate ?? false,
    });
    this.write(Buffer.concat([method, contentFrames(channel, Buffer.from(body), options.properties)]));
  }

  declare(queue: string, options: Partial<MethodArgs<'queue.declare'>> = {}, channel = 1): Promise<string> {
    return this.call(channel, 'queue.declare', { ...DEFAULTS.declareQueue, queue, ...options });
  }

  exchange(
    exchange: string,
    type: string,
    options: Partial<MethodArgs<'exchange.declare'>> = {},
  ): Promise<string> {
    return this.call(1, 'exchange.declare', { ...DEFAULTS.declareExchange, exchange, type, ...options });
  }

  bind(queue: string, exchange: string, routingKey: string, args: FieldTable = EMPTY_TABLE): Promise<string> {
    return this.call(1, 'queue.bind', {
      ticket: 0,
      queue,
      exchange,
      routingKey,
      nowait: false,
      arguments: args,
    });
  }

  consume(
    queue: string,
    consumerTag: string,
    options: Partial<MethodArgs<'basic.consume'>> = {},
    channel = 1,
  ): Promise<string> {
    return this.call(channel, 'basic.consume', { ...DEFAULTS.consume, queue, consumerTag, ...options });
  }

  get(queue: string, noAck = true, channel = 1): Promise<string> {
    return this.call(channel, 'basic.get', { ticket: 0, queue, noAck });
  }

  /** The next answer; `(silence)` when none comes in time. */
  answer(waitMs = ANSWER_MS): Promise<string> {
    const [first] = this.#answers;
    if (first !== undefined) {
      this.#answers.shift();
      return Promise.resolve(first);
    }
    if (this.#ended) return Promise.resolve('EOF');
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waits.splice(this.#waits.indexOf(wait), 1);
        resolve('(silence)');
      }, waitMs);
      const wait: Wait = {
        resolve: (text) => {
          clearTimeout(timer);
          resolve(text);
        },
      };
      this.#waits.push(wait);
    });
  }

  /** Everything that comes until nothing comes for a while. */
  async rest(silenceMs = SILENCE_MS): Promise<readonly string[]> {
    const all: string[] = [];
    for (;;) {
      const next = await this.answer(silenceMs);
      if (next === '(silence)') return all;
      all.push(next);
      if (next === 'EOF') return all;
    }
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const closed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()));
    this.socket.destroy();
    await closed;
  }

  #onData(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      if (this.#rest.subarray(0, 4).toString('latin1') === 'AMQP') {
        if (this.#rest.length < 8) return;
        this.#say(`header ${this.#rest.subarray(4, 8).toString('hex')}`);
        this.#rest = this.#rest.subarray(8);
        continue;
      }
      if (this.#rest.length < 7) return;
      const size = this.#rest.readUInt32BE(3);
      if (this.#rest.length < size + 8) return;
      this.largestFrame = Math.max(this.largestFrame, size + 8);
      const type = this.#rest.readUInt8(0);
      const channel = this.#rest.readUInt16BE(1);
      const payload = this.#rest.subarray(7, 7 + size);
      this.#rest = this.#rest.subarray(size + 8);
      this.#onFrame({ type, channel, payload });
    }
  }

  #onFrame({ type, channel, payload }: RawFrame): void {
    const content = this.#content;
    if (type === 8) {
      this.#say('heartbeat');
    } else if (type === 1) {
      const method = decodeMethod(payload, 0, payload.length);
      const text = `${describeMethod(method)}${channel > 1 ? ` @${String(channel)}` : ''}`;
      if (
        method.name === 'basic.deliver' ||
        method.name === 'basic.get-ok' ||
        method.name === 'basic.return'
      ) {
        this.#content = { head: text, size: -1, got: 0, body: [], properties: {} };
      } else {
        this.#say(text);
        if (method.name === 'channel.close') this.send(channel, 'channel.close-ok', {});
        if (method.name === 'connection.close') this.send(0, 'connection.close-ok', {});
      }
    } else if (content !== undefined && type === 2) {
      content.size = payload.readUInt32BE(8);
      content.properties = decodeProperties(payload.subarray(12));
    } else if (content !== undefined) {
      content.got += payload.length;
      content.body.push(payload);
    }
    if (content !== undefined && content.size === content.got) {
      this.#content = undefined;
      const properties = describeProperties(content.properties);
      const body = Buffer.concat(content.body);
      const shown = body.length > 64 ? `(${String(body.length)} bytes)` : JSON.stringify(body.toString());
      this.#say(`${content.head} ${shown}${properties}`);
    }
  }

  #say(text: string): void {
    const wait = this.#waits.shift();
    if (wait === undefined) this.#answers.push(text);
    else wait.resolve(text);
  }
}
