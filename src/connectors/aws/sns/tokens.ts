import type { Broker } from '../../../core/broker-api.js';
import type { Change } from '../../../core/registry/types.js';
import type { IdSource } from '../../../base/ids.js';
import type { Clock, Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { deliveryChannel } from '../names.js';
import type { SubscriptionRecord } from './subscription.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

const TOKEN_KIND = 'aws.subscription-token';
const TOKEN_BYTES = 144;
/** How long a subscription can be confirmed; pending ones are removed then. */
const TOKEN_LIFE_MS = 2 * 24 * 60 * 60 * 1000;
const SWEEP_MS = 10 * 60 * 1000;

/** What the registry keeps under a token. */
export interface TokenRecord {
  /** Key of the subscription it confirms. */
  readonly subscription: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Of a subscription that was ended: as it was, to bring it back. */
  readonly ended?: SubscriptionRecord | undefined;
}

/** 288 hexadecimal digits, as AWS's are. */
export function newToken(ids: IdSource): string {
  return Buffer.from(ids.bytes(TOKEN_BYTES)).toString('hex');
}

/** What is no number is told from what is none of ours. */
export function isTokenForm(token: string): boolean {
  return /^[0-9a-f]+$/.test(token);
}

export function tokenChange(token: string, value: TokenRecord): Change {
  return { do: 'put', kind: TOKEN_KIND, key: token, value };
}

/** The record of a token that still counts. */
export function findToken(broker: Broker, token: string, now: number): TokenRecord | undefined {
  const record = broker.registry.get<TokenRecord>(TOKEN_KIND, token)?.value;
  return record === undefined || record.createdAt + TOKEN_LIFE_MS <= now ? undefined : record;
}

/** Removes tokens whose time is over, and the subscriptions nobody confirmed with them. */
export class TokenSweeper {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = true;

  constructor(broker: Broker, clock: Clock, log: Log) {
    this.#broker = broker;
    this.#clock = clock;
    this.#log = log;
  }

  /** Sweeps now and from time to time. */
  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#sweeping;
  }

  #sweep(): void {
    this.#sweeping = this.#removeOld()
      .catch((error: unknown) => {
        this.#log.warn('old confirmation tokens stay for now', { error });
      })
      .then(() => {
        if (!this.#stopped) this.#timer = this.#clock.after(SWEEP_MS, () => this.#sweep());
      });
  }

  async #removeOld(): Promise<void> {
    const now = this.#clock.now();
    for (const { key, value } of this.#broker.registry.list<TokenRecord>(TOKEN_KIND)) {
      if (value.createdAt + TOKEN_LIFE_MS > now) continue;
      const changes: Change[] = [{ do: 'remove', kind: TOKEN_KIND, key }];
      const name = value.subscription;
      const pending = this.#broker.registry.get<SubscriptionRecord>(SUBSCRIPTION_KIND, name);
      if (pending?.value.pendingToken === key) {
        changes.push(
          { do: 'remove', kind: SUBSCRIPTION_KIND, key: name, expected: pending.version },
          { do: 'delete-queue', channel: deliveryChannel(name) },
        );
      }
      await this.#broker.change(changes);
    }
  }
}
