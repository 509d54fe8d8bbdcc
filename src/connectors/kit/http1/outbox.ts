import type { Socket } from 'node:net';

/** Answers of one turn: gathered, then written at once. */
export class Outbox {
  readonly #socket: Socket;
  #text = '';
  #isAscii = true;
  #corked = false;
  #bytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** What waits to be written, text and bytes together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds text, in UTF-8 when it is not `isAscii`, and bytes that follow it. */
  add(text: string, isAscii = true, bytes?: Uint8Array): void {
    this.#text += text;
    this.#isAscii &&= isAscii;
    this.#bytes += text.length;
    if (bytes === undefined) return;
    this.#bytes += bytes.length;
    if (!this.#corked) this.#socket.cork();
    this.#corked = true;
    this.#writeText();
    this.#socket.write(bytes);
  }

  /** Writes all that waits; false when there was nothing. */
  flush(): boolean {
    if (this.#bytes === 0) return false;
    this.#writeText();
    if (this.#corked) this.#socket.uncork();
    this.#corked = false;
    this.#bytes = 0;
    return true;
  }

  #writeText(): void {
    if (this.#text === '') return;
    this.#socket.write(this.#text, this.#isAscii ? 'latin1' : 'utf8');
    this.#text = '';
    this.#isAscii = true;
  }
}
