import type { Duplex } from 'node:stream';

/** Back-pressure on a client: its socket is read, or left alone until there is room again. */
export class ReadGate {
  readonly #socket: Duplex;
  #open = true;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  get open(): boolean {
    return this.#open;
  }

  set(open: boolean): void {
    if (open === this.#open) return;
    this.#open = open;
    if (open) this.#socket.resume();
    else this.#socket.pause();
  }
}
