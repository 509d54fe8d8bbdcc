import type { Socket } from 'node:net';
import { openSocket } from './socket.js';

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

interface Waiter {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** One keep-alive HTTP/1.1 connection with one request open at a time; understands lengths and chunks. */
export class Http1Connection {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #waiter: Waiter | undefined;
  #failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  static async open(port: number, host?: string): Promise<Http1Connection> {
    return new Http1Connection(await openSocket(port, host));
  }

  /** Sends a whole request (head and body) and gives its answer. `request` must not change until then. */
  send(request: Uint8Array | string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      this.#waiter = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(error);
  }

  #take(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const answer = parseAnswer(this.#bytes);
    if (answer === undefined) return;
    this.#bytes = Buffer.alloc(0);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.resolve(answer);
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** The answer at the start of `bytes`, or undefined while it is not whole. */
function parseAnswer(bytes: Buffer): HttpAnswer | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(head.slice(9, 12));
  const start = headEnd + HEAD_END.length;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length !== null) {
    const end = start + Number(length[1]);
    return bytes.length < end ? undefined : { status, body: bytes.subarray(start, end) };
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const body = parseChunks(bytes, start);
    return body === undefined ? undefined : { status, body };
  }
  return { status, body: Buffer.alloc(0) };
}

function parseChunks(bytes: Buffer, start: number): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const from = lineEnd + 2;
    if (bytes.length < from + size + 2) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(from, from + size));
    at = from + size + 2;
  }
}
