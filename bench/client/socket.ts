import { connect, type Socket } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** Opens a TCP connection with Nagle's algorithm off. */
export function openSocket(port: number, host = LOOPBACK): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** Gathers what is written in one turn of the event loop into one system call. */
export class TurnWriter {
  readonly #socket: Socket;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #scheduled = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** `part` must not change before the turn ends. */
  write(part: Uint8Array): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#parts.length === 0) return;
    const bytes = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    if (bytes !== undefined && !this.#socket.destroyed) this.#socket.write(bytes);
  }
}

/** Bytes that arrived and are not used up: one buffer, joined only when a unit is cut by a packet's end. */
export class Inbox {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;

  add(chunk: Buffer): void {
    this.bytes = this.at === this.bytes.length ? chunk : Buffer.concat([this.bytes.subarray(this.at), chunk]);
    this.at = 0;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }
}
