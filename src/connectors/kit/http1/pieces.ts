/**
 * A body put together of text and bytes, written once, right behind its head: long bodies are copied from where they are, and never
 * become strings.
 */
export class Pieces {
  /** Text that is not yet a piece: neighbours are joined. */
  #text = '';
  readonly #pieces: (string | Uint8Array)[] = [];
  #size = 0;

  /** Bytes of all of it. */
  get size(): number {
    return this.#size + this.#text.length;
  }

  /** Adds text in ASCII. */
  ascii(text: string): void {
    this.#text += text;
  }

  /** Adds any text. */
  text(text: string): void {
    const size = Buffer.byteLength(text);
    if (size === text.length) this.#text += text;
    else this.bytes(Buffer.from(text, 'utf8'));
  }

  /** Adds bytes, which must not change before the body is written. */
  bytes(bytes: Uint8Array): void {
    this.#endText();
    this.#pieces.push(bytes);
    this.#size += bytes.length;
  }

  /** Writes all of it at `target[at..]`. */
  writeTo(target: Buffer, at: number): void {
    this.#endText();
    let to = at;
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') {
        to += target.write(piece, to, 'latin1');
      } else {
        target.set(piece, to);
        to += piece.length;
      }
    }
  }

  #endText(): void {
    if (this.#text === '') return;
    this.#pieces.push(this.#text);
    this.#size += this.#text.length;
    this.#text = '';
  }
}
