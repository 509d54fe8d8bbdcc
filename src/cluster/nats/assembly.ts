import type { Clock } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { Frame } from './frames.js';

/** A part did not come: the connection of one of the two nodes broke on the way. */
export function partLost(): BrokerError {
  return new BrokerError('unavailable', 'a part was lost on the way');
}

/** One request or reply that comes in parts. */
export class Assembly {
  readonly #parts: Uint8Array[] = [];
  bytes = 0;

  /** False: not the part that is due. */
  add({ part, payload }: Frame): boolean {
    if (part !== this.#parts.length) return false;
    this.#parts.push(payload);
    this.bytes += payload.byteLength;
    return true;
  }

  whole(): Uint8Array {
    const [first] = this.#parts;
    return this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
  }
}

export interface AssembliesLimits {
  /** Of all that are not complete. */
  readonly bytesMax: number;
  /** How long the parts of one may take to come. */
  readonly timeoutMs: number;
}

/** Requests of other nodes that are not complete yet. */
export class Assemblies {
  readonly #limits: AssembliesLimits;
  readonly #clock: Clock;
  readonly #open = new Map<string, Assembly>();
  #bytes = 0;

  constructor(limits: AssembliesLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The whole request when this was its last part. Throws `unavailable` when it cannot become whole any more. */
  add(key: string, frame: Frame): Uint8Array | undefined {
    const known = this.#open.get(key);
    const assembly = known ?? new Assembly();
    if (!assembly.add(frame)) {
      this.#forget(key, assembly);
      throw partLost();
    }
    this.#bytes += frame.payload.byteLength;
    const tooMuch = this.#bytes > this.#limits.bytesMax;
    if (!frame.last && !tooMuch) {
      if (known === undefined) this.#await(key, assembly);
      return undefined;
    }
    this.#open.set(key, assembly);
    this.#forget(key, assembly);
    if (tooMuch) throw new BrokerError('unavailable', 'too many requests come in at once');
    return assembly.whole();
  }

  clear(): void {
    this.#open.clear();
    this.#bytes = 0;
  }

  /** Parts whose caller ended in between are given up. */
  #await(key: string, assembly: Assembly): void {
    this.#open.set(key, assembly);
    this.#clock.after(this.#limits.timeoutMs, () => this.#forget(key, assembly));
  }

  #forget(key: string, assembly: Assembly): void {
    if (this.#open.get(key) !== assembly) return;
    this.#open.delete(key);
    this.#bytes -= assembly.bytes;
  }
}
