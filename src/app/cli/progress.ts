import type { Terminal } from './output.js';

/** How often a line of progress is renewed. */
const EVERY_MS = 200;

/** A line that tells how far long work is: on a terminal only, so that logs and pipes stay clean. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #what: string;
  #shownAt = 0;
  #shown = false;

  constructor(terminal: Terminal, what: string) {
    this.#terminal = terminal;
    this.#what = what;
  }

  show(done: number, now: number, total?: number): void {
    if (this.#terminal.interactive !== true || now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    this.#shown = true;
    this.#terminal.error(`\r\u001b[K${this.#what}: ${done}${total === undefined ? '' : ` of ${total}`}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#shown) this.#terminal.error('\r\u001b[K');
  }
}
