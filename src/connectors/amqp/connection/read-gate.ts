import type { Socket } from 'node:net';

/** Back-pressure on a client: its socket is read, or left alone until there is room again. */
export class ReadGate {
  readonly #socket: Socket;
  #open = true;

  constructor(socket: Socket) {
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
