import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { BrokerError } from '../errors.js';
import type { Family } from './family.js';
import type { Delivery, ReceiveRequest } from './types.js';

/** A receive that waits. */
export interface Waiter {
  readonly only: ChannelName | undefined;
  readonly request: ReceiveRequest;
  readonly resolve: (deliveries: readonly Delivery[]) => void;
  readonly reject: (error: BrokerError) => void;
  /** Handle in the timeouts; -1 = none. */
  timeout: number;
  cancelled: boolean;
  readonly abort: () => void;
}

/** The receives that wait, in order of arrival, each until it is served, its time is over, or whoever asked goes away. */
export class Waits {
  readonly #core: Pick<CoreContext, 'timeouts' | 'clock' | 'limits'>;
  /** In all families. */
  #count = 0;

  constructor(core: Pick<CoreContext, 'timeouts' | 'clock' | 'limits'>) {
    this.#core = core;
  }

  get full(): boolean {
    return this.#count >= this.#core.limits.waitersMax;
  }

  /** A receive that is not on the list yet; its signal is heard from now on. */
  create(family: Family, parts: Pick<Waiter, 'only' | 'request' | 'resolve' | 'reject'>): Waiter {
    const waiter: Waiter = {
      ...parts,
      timeout: -1,
      cancelled: false,
      abort: () => {
        waiter.cancelled = true;
        if (family.waiters.has(waiter)) this.end(family, waiter);
      },
    };
    parts.request.signal?.addEventListener('abort', waiter.abort, { once: true });
    return waiter;
  }

  add(family: Family, waiter: Waiter): void {
    family.waiters.add(waiter);
    this.#count++;
    waiter.timeout = this.#core.timeouts.set(this.#core.clock.now() + waiter.request.waitMs, () => {
      waiter.timeout = -1;
      this.end(family, waiter);
    });
  }

  /** Off the list: it is being served, or ends. */
  remove(family: Family, waiter: Waiter): void {
    if (family.waiters.delete(waiter)) this.#count--;
    if (waiter.timeout >= 0) this.#core.timeouts.cancel(waiter.timeout);
    waiter.timeout = -1;
    waiter.request.signal?.removeEventListener('abort', waiter.abort);
  }

  /** Ends a wait with nothing. */
  end(family: Family, waiter: Waiter): void {
    this.remove(family, waiter);
    waiter.resolve([]);
  }

  /** Ends all waits of a family: with nothing, or with an error. */
  endAll(family: Family, error?: BrokerError): void {
    for (const waiter of [...family.waiters]) {
      if (error === undefined) {
        this.end(family, waiter);
        continue;
      }
      waiter.cancelled = true;
      this.remove(family, waiter);
      waiter.reject(error);
    }
  }
}
