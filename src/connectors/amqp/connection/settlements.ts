import type { Broker } from '../../../core/broker-api.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import type { SettleHow } from '../channel/host.js';
import { SETTLEMENTS } from '../channel/host.js';

const KINDS: readonly SettleHow[] = ['ack', 'reject', 'requeue', 'return-uncounted'];

/** Settlements of one turn, gathered so that each kind is one call of the broker. */
export class Settlements {
  readonly #broker: Broker;
  readonly #onFailure: (caught: unknown) => void;
  readonly #tokens: Record<SettleHow, LeaseToken[]> = {
    ack: [],
    reject: [],
    requeue: [],
    'return-uncounted': [],
  };
  #count = 0;
  /** Since the connection began. */
  settled = 0;

  constructor(broker: Broker, onFailure: (caught: unknown) => void) {
    this.#broker = broker;
    this.#onFailure = onFailure;
  }

  add(token: LeaseToken, how: SettleHow): void {
    this.#tokens[how].push(token);
    this.#count++;
  }

  flush(): void {
    if (this.#count === 0) return;
    this.settled += this.#count;
    this.#count = 0;
    for (const how of KINDS) {
      const tokens = this.#tokens[how];
      if (tokens.length === 0) continue;
      this.#tokens[how] = [];
      // A refused token is a message that is gone (its queue was deleted or purged): nothing is left to be done for it.
      this.#broker.settle({ tokens, settlement: SETTLEMENTS[how] }).catch(this.#onFailure);
    }
  }
}
