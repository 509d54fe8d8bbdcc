import type { Socket } from 'node:net';

const BLOCK_BYTES = 64 * 1024;
/** Free blocks kept for all connections together. */
const SPARE_BLOCKS_MAX = 64;

const spareBlocks: Buffer[] = [];

/**
 * What a connection sends: gathered while a turn of the event loop runs, then written at once. Blocks come from a common
 * store and go back when the system has taken them, so that a connection at rest holds none.
 */
export class Outbox {
  readonly #socket: Socket;
  readonly #onTaken: () => void;
  /** Blocks without room, and how far each is used; then the one that is being filled. */
  #full: Buffer[] = [];
  #fullBytes: number[] = [];
  #block: Buffer | undefined;
  #at = 0;
  #scheduled = false;
  /** One write at a time: what comes meanwhile fills blocks instead of starting new ones. */
  #writing = false;
  #closing = false;
  #pendingBytes = 0;

  /** `onTaken` is called each time the system took something. */
  constructor(socket: Socket, onTaken: () => void) {
    this.#socket = socket;
    this.#onTaken = onTaken;
  }

  /** Bytes appended and not taken by the system. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Appends a copy of `bytes`. */
  append(bytes: Uint8Array): void {
    const length = bytes.length;
    let block = this.#block;
    if (block === undefined || this.#at + length > BLOCK_BYTES) {
      if (length > BLOCK_BYTES) {
        for (let at = 0; at < length; at += BLOCK_BYTES) this.append(bytes.subarray(at, at + BLOCK_BYTES));
        return;
      }
      block = this.#nextBlock();
    }
    block.set(bytes, this.#at);
    this.#at += length;
    this.#pendingBytes += length;
    this.#schedule();
  }

  /**
   * Room for `length` bytes in one piece (64 KiB at most), to be filled by the caller at once. The room
   * counts as appended, and ends at `end`.
   */
  reserve(length: number): Buffer {
    let block = this.#block;
    if (block === undefined || this.#at + length > BLOCK_BYTES) block = this.#nextBlock();
    this.#at += length;
    this.#pendingBytes += length;
    this.#schedule();
    return block;
  }

  /** Where the room of the last `reserve` ends. */
  get end(): number {
    return this.#at;
  }

  /** Writes what was gathered, unless a write is under way: then as soon as that is done. */
  flush(): void {
    this.#scheduled = false;
    const block = this.#block;
    const socket = this.#socket;
    if (block === undefined || this.#writing) return;
    const full = this.#full;
    const at = this.#at;
    this.#block = undefined;
    this.#at = 0;
    if (socket.destroyed || socket.writableEnded) {
      this.#full = [];
      return;
    }
    this.#writing = true;
    if (full.length === 0) {
      this.#write(block, at, true);
      return;
    }
    this.#full = [];
    socket.cork();
    for (const [index, one] of full.entries()) this.#write(one, this.#fullBytes[index] ?? 0, false);
    this.#fullBytes = [];
    this.#write(block, at, true);
    socket.uncork();
  }

  /** Ends the socket when all that was appended is written. */
  close(): void {
    this.#closing = true;
    this.flush();
    if (!this.#writing) this.#socket.end();
  }

  #write(block: Buffer, length: number, isLast: boolean): void {
    this.#socket.write(length === BLOCK_BYTES ? block : block.subarray(0, length), () => {
      this.#pendingBytes -= length;
      if (spareBlocks.length < SPARE_BLOCKS_MAX) spareBlocks.push(block);
      if (!isLast) return;
      this.#writing = false;
      this.#onTaken();
      this.flush();
      if (this.#closing && !this.#isWriting()) this.#socket.end();
    });
  }

  #isWriting(): boolean {
    return this.#writing;
  }

  #nextBlock(): Buffer {
    if (this.#block !== undefined) {
      this.#full.push(this.#block);
      this.#fullBytes.push(this.#at);
    }
    const block = spareBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#block = block;
    this.#at = 0;
    return block;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(flush, this);
  }
}

function flush(outbox: Outbox): void {
  outbox.flush();
}
