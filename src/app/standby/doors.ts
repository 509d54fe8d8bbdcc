import type { Socket } from 'node:net';
import { deferred } from '../../base/deferred.js';

/** Hands a connection to what serves the listener of that name. */
export type Admit = (listener: string, socket: Socket) => void;

/** The way into this node's own connectors, for connections that were accepted before these were there. */
export class Doors {
  readonly #opened = deferred<Admit>();

  /** The connectors serve from now on. */
  open(admit: Admit): void {
    this.#opened.resolve(admit);
  }

  get opened(): Promise<Admit> {
    return this.#opened.promise;
  }
}
