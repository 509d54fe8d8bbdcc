import type { Socket } from 'node:net';
import { decodeHeaders, encodeHeaders } from './hpack.js';
import { Inbox, openSocket, TurnWriter } from './socket.js';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const FRAME_HEAD_BYTES = 9;
const FRAME_BYTES_MAX = 16_384;
const GRPC_HEAD_BYTES = 5;

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;

const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
const PRIORITY = 32;

const WINDOW_BYTES = 0x3fff_0000;
const WINDOW_RENEW_BYTES = 0x1000_0000;

/** How a call ended: 0 is OK. */
export interface GrpcEnd {
  readonly status: number;
  readonly message: string;
}

export interface GrpcHandlers {
  /** One message of the answer; the view is valid during the call only. */
  readonly onMessage: (message: Uint8Array) => void;
  readonly onEnd: (end: GrpcEnd) => void;
}

/** One open call. */
export interface GrpcCall {
  /** Sends one message. `message` is copied. */
  write(message: Uint8Array): void;
  /** Says that no more messages follow. */
  finish(): void;
  /** Ends the call on the spot. */
  cancel(): void;
}

interface Stream extends GrpcHandlers {
  readonly id: number;
  sendWindow: number;
  received: number;
  partial: { bytes: Uint8Array; filled: number } | undefined;
  headerParts: Uint8Array[];
  headersEndStream: boolean;
  waiting: { bytes: Uint8Array; end: boolean }[];
}

/** A gRPC client connection on a frame layer of its own: about four times as cheap as node:http2. */
export class GrpcConnection {
  readonly #socket: Socket;
  readonly #out: TurnWriter;
  readonly #inbox = new Inbox();
  readonly #streams = new Map<number, Stream>();
  readonly #headerBlocks = new Map<string, Buffer>();
  readonly #authority: string;
  #nextId = 1;
  #sendWindow = 65_535;
  #initialSendWindow = 65_535;
  #received = 0;
  #failure: string | undefined;

  private constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#authority = `127.0.0.1:${String(port)}`;
    this.#out = new TurnWriter(socket);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error.message));
    socket.on('close', () => this.#fail('the server closed the connection'));
    this.#out.write(PREFACE);
    // No dynamic header table, no push, a window that never holds the server up.
    this.#out.write(frame(SETTINGS, 0, 0, settings([[1, 0], [2, 0], [4, WINDOW_BYTES]]))); // prettier-ignore
    this.#out.write(windowUpdate(0, WINDOW_BYTES - 65_535));
  }

  static async open(port: number, host?: string): Promise<GrpcConnection> {
    return new GrpcConnection(await openSocket(port, host), port);
  }

  /** One request, one answer. Rejects with the status when it is not OK. */
  unary(path: string, request: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const call = this.#open(path, {
        onMessage: (message) => {
          answer = Buffer.from(message);
        },
        onEnd: (end) => {
          if (end.status === 0 && answer !== undefined) resolve(answer);
          else reject(new Error(`${path}: status ${String(end.status)} ${end.message}`));
        },
      });
      call.writeAndFinish(request);
    });
  }

  /** Opens a call of any kind. */
  open(path: string, handlers: GrpcHandlers): GrpcCall {
    return this.#open(path, handlers);
  }

  #open(path: string, handlers: GrpcHandlers): OpenCall {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream: Stream = {
      id,
      onMessage: handlers.onMessage,
      onEnd: handlers.onEnd,
      sendWindow: this.#initialSendWindow,
      received: 0,
      partial: undefined,
      headerParts: [],
      headersEndStream: false,
      waiting: [],
    };
    if (this.#failure !== undefined) {
      const message = this.#failure;
      setImmediate(() => handlers.onEnd({ status: 14, message }));
    } else {
      this.#streams.set(id, stream);
      this.#out.write(frame(HEADERS, END_HEADERS, id, this.#headers(path)));
    }
    return new OpenCall(
      (bytes, end) => this.#sendData(stream, bytes, end),
      () => {
        if (!this.#streams.delete(id)) return;
        this.#out.write(frame(RST_STREAM, 0, id, Buffer.from([0, 0, 0, 8])));
      },
    );
  }

  close(): void {
    this.#socket.destroy();
  }

  #headers(path: string): Buffer {
    let block = this.#headerBlocks.get(path);
    if (block === undefined) {
      block = encodeHeaders([
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', path],
        [':authority', this.#authority],
        ['content-type', 'application/grpc'],
        ['te', 'trailers'],
      ]);
      this.#headerBlocks.set(path, block);
    }
    return block;
  }

  #sendData(stream: Stream, bytes: Uint8Array, end: boolean): void {
    stream.waiting.push({ bytes, end });
    if (stream.waiting.length === 1) this.#pump(stream);
  }

  /** Sends what both windows allow. */
  #pump(stream: Stream): void {
    for (;;) {
      const next = stream.waiting[0];
      if (next === undefined) return;
      const size = Math.min(next.bytes.length, FRAME_BYTES_MAX, stream.sendWindow, this.#sendWindow);
      if (size <= 0 && next.bytes.length > 0) return;
      const last = size === next.bytes.length;
      this.#out.write(
        frame(DATA, last && next.end ? END_STREAM : 0, stream.id, next.bytes.subarray(0, size)),
      );
      stream.sendWindow -= size;
      this.#sendWindow -= size;
      if (last) stream.waiting.shift();
      else next.bytes = next.bytes.subarray(size);
    }
  }

  #take(chunk: Buffer): void {
    const inbox = this.#inbox;
    inbox.add(chunk);
    while (inbox.left >= FRAME_HEAD_BYTES) {
      const { bytes, at } = inbox;
      const length = bytes.readUIntBE(at, 3);
      if (inbox.left < FRAME_HEAD_BYTES + length) break;
      const payload = bytes.subarray(at + FRAME_HEAD_BYTES, at + FRAME_HEAD_BYTES + length);
      inbox.at = at + FRAME_HEAD_BYTES + length;
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5) & 0x7fff_ffff, payload);
    }
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case DATA:
        this.#data(flags, id, payload);
        return;
      case HEADERS:
      case CONTINUATION:
        this.#headerBlock(type, flags, id, payload);
        return;
      case RST_STREAM:
        this.#end(id, { status: 13, message: `stream reset, code ${String(payload.readUInt32BE(0))}` });
        return;
      case SETTINGS:
        if ((flags & ACK) === 0) this.#settings(payload);
        return;
      case PING:
        if ((flags & ACK) === 0) this.#out.write(frame(PING, ACK, 0, payload));
        return;
      case GOAWAY:
        if (payload.readUInt32BE(4) !== 0) this.#fail(`go away, code ${String(payload.readUInt32BE(4))}`);
        return;
      case WINDOW_UPDATE:
        this.#windowUpdate(id, payload.readUInt32BE(0) & 0x7fff_ffff);
        return;
      default:
    }
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== 4) continue;
      const value = payload.readUInt32BE(at + 2);
      const change = value - this.#initialSendWindow;
      this.#initialSendWindow = value;
      for (const stream of this.#streams.values()) {
        stream.sendWindow += change;
        this.#pump(stream);
      }
    }
    this.#out.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
  }

  #windowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      this.#sendWindow += bytes;
      for (const stream of this.#streams.values()) if (stream.waiting.length > 0) this.#pump(stream);
      return;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.sendWindow += bytes;
    this.#pump(stream);
  }

  #data(flags: number, id: number, payload: Buffer): void {
    this.#received += payload.length;
    if (this.#received > WINDOW_RENEW_BYTES) {
      this.#out.write(windowUpdate(0, this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.received += payload.length;
    if (stream.received > WINDOW_RENEW_BYTES) {
      this.#out.write(windowUpdate(id, stream.received));
      stream.received = 0;
    }
    this.#messages(stream, unpad(flags, payload));
    if ((flags & END_STREAM) !== 0) this.#end(id, { status: 2, message: 'ended without a status' });
  }

  #messages(stream: Stream, chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const { partial } = stream;
      if (partial === undefined && chunk.length - at >= GRPC_HEAD_BYTES) {
        const end = at + GRPC_HEAD_BYTES + messageBytes(chunk, at);
        if (end <= chunk.length) {
          stream.onMessage(chunk.subarray(at + GRPC_HEAD_BYTES, end));
          at = end;
          continue;
        }
      }
      at = this.#gather(stream, chunk, at);
    }
  }

  /** Takes a part of a message that comes in several frames: copied once, however many they are. */
  #gather(stream: Stream, chunk: Uint8Array, at: number): number {
    const partial = (stream.partial ??= { bytes: new Uint8Array(GRPC_HEAD_BYTES), filled: 0 });
    const taken = Math.min(partial.bytes.length - partial.filled, chunk.length - at);
    partial.bytes.set(chunk.subarray(at, at + taken), partial.filled);
    partial.filled += taken;
    if (partial.filled === GRPC_HEAD_BYTES && partial.bytes.length === GRPC_HEAD_BYTES) {
      const whole = Buffer.allocUnsafe(GRPC_HEAD_BYTES + messageBytes(partial.bytes, 0));
      whole.set(partial.bytes);
      partial.bytes = whole;
    }
    if (partial.filled === partial.bytes.length) {
      stream.partial = undefined;
      stream.onMessage(partial.bytes.subarray(GRPC_HEAD_BYTES));
    }
    return at + taken;
  }

  #headerBlock(type: number, flags: number, id: number, payload: Buffer): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    let block = payload;
    if (type === HEADERS) {
      stream.headersEndStream = (flags & END_STREAM) !== 0;
      block = unpad(flags, block);
      if ((flags & PRIORITY) !== 0) block = block.subarray(5);
    }
    stream.headerParts.push(block);
    if ((flags & END_HEADERS) === 0) return;
    const parts = stream.headerParts;
    stream.headerParts = [];
    // The headers that come first say nothing a load generator needs; the status is in the last ones.
    if (!stream.headersEndStream) return;
    const headers = decodeHeaders(parts.length === 1 ? block : Buffer.concat(parts));
    const status = headers.get('grpc-status');
    this.#end(id, {
      status: status === undefined ? 2 : Number(status),
      message:
        decodeMessage(headers.get('grpc-message')) ??
        (status === undefined ? 'no status in the trailers' : ''),
    });
  }

  #end(id: number, end: GrpcEnd): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#streams.delete(id);
    stream.onEnd(end);
  }

  #fail(message: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = message;
    for (const id of [...this.#streams.keys()]) this.#end(id, { status: 14, message });
  }
}

class OpenCall implements GrpcCall {
  readonly #send: (bytes: Uint8Array, end: boolean) => void;
  readonly #cancel: () => void;

  constructor(send: (bytes: Uint8Array, end: boolean) => void, cancel: () => void) {
    this.#send = send;
    this.#cancel = cancel;
  }

  write(message: Uint8Array): void {
    this.#send(grpcMessage(message), false);
  }

  writeAndFinish(message: Uint8Array): void {
    this.#send(grpcMessage(message), true);
  }

  finish(): void {
    this.#send(Buffer.alloc(0), true);
  }

  cancel(): void {
    this.#cancel();
  }
}

/** The text of a `grpc-message` header, which is percent-encoded. */
function decodeMessage(text: string | undefined): string | undefined {
  return text?.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (part) =>
    Buffer.from(part.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

/** Length of the message whose head stands at `at`. */
function messageBytes(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + at + 1, 4).getUint32(0);
}

function grpcMessage(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(GRPC_HEAD_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, GRPC_HEAD_BYTES);
  return bytes;
}

function frame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(id, 5);
  bytes.set(payload, FRAME_HEAD_BYTES);
  return bytes;
}

function settings(values: readonly (readonly [number, number])[]): Buffer {
  const bytes = Buffer.alloc(values.length * 6);
  values.forEach(([id, value], index) => {
    bytes.writeUInt16BE(id, index * 6);
    bytes.writeUInt32BE(value, index * 6 + 2);
  });
  return bytes;
}

function windowUpdate(id: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(WINDOW_UPDATE, 0, id, payload);
}

function unpad(flags: number, payload: Buffer): Buffer {
  if ((flags & PADDED) === 0) return payload;
  return payload.subarray(1, payload.length - (payload[0] ?? 0));
}
