import type { Log } from '../../../base/log.js';
import { parseAllowList } from '../../kit/outgoing/allow-list.js';
import { OutgoingHttp } from '../../kit/outgoing/http-client.js';
import type { SubscriptionInfo } from '../registry/records.js';
import type { GcpServices } from '../services.js';
import { isPush } from './push-endpoint.js';
import { PushPump, type PushContext, type PushCounters } from './push-pump.js';
import { PUSH_LIMITS } from './limits.js';
import type { TokenSigner } from './token-signer.js';

interface RunningPump {
  readonly pump: PushPump;
  /** Tells the subscription from a later one of its name. */
  readonly createdAt: number;
}

/** The pumps of all push subscriptions. They follow the catalog from `start` to `drain`. */
export class PushWorkers {
  readonly counters: PushCounters = { acknowledged: 0, refused: 0, failed: 0 };
  readonly #services: GcpServices;
  readonly #http: OutgoingHttp;
  readonly #context: PushContext;
  readonly #pumps = new Map<string, RunningPump>();
  /** Pumps of subscriptions that push no more, until they have ended. */
  readonly #ending = new Set<PushPump>();
  readonly #endings = new Set<Promise<void>>();
  #isRunning = false;

  constructor(services: GcpServices, signer: TokenSigner, log: Log) {
    this.#services = services;
    const allow = parseAllowList(services.config.pushAllow);
    if (allow === undefined) throw new TypeError('pushAllow was not checked');
    this.#http = new OutgoingHttp({
      clock: services.clock,
      allow,
      connectionsPerHostMax: PUSH_LIMITS.windowMax,
    });
    this.#context = { services, http: this.#http, signer, log, counters: this.counters };
    services.catalog.onSubscription((id, info) => this.#changed(id, info));
  }

  /** Requests under way. */
  get underWay(): number {
    let count = 0;
    for (const { pump } of this.#pumps.values()) count += pump.underWay;
    for (const pump of this.#ending) count += pump.underWay;
    return count;
  }

  get count(): number {
    return this.#pumps.size;
  }

  /** Begins with all push subscriptions. */
  start(subscriptions: Iterable<SubscriptionInfo>): void {
    this.#isRunning = true;
    for (const info of subscriptions) this.#changed(info.id, info);
  }

  /** Begins nothing more and waits for the requests under way, `graceMs` at most. */
  async drain(graceMs: number): Promise<void> {
    this.#isRunning = false;
    const pumps = [...this.#pumps.values()].map(({ pump }) => pump.drain());
    const drained = Promise.all([...pumps, ...this.#endings]);
    await new Promise<void>((resolve, reject) => {
      const timer = this.#services.clock.after(graceMs, resolve);
      drained.then(
        () => {
          timer.cancel();
          resolve();
        },
        (error: unknown) => reject(error instanceof Error ? error : new Error(String(error))),
      );
    });
  }

  /** Ends everything at once. Idempotent. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    const all = [...[...this.#pumps.values()].map(({ pump }) => pump), ...this.#ending];
    this.#pumps.clear();
    await Promise.all(all.map((pump) => pump.stop()));
    this.#http.close();
  }

  #changed(id: string, info: SubscriptionInfo | undefined): void {
    if (!this.#isRunning) return;
    const running = this.#pumps.get(id);
    const isSame = running?.createdAt === info?.record.createdAt;
    if (running !== undefined && info !== undefined && isSame && isPush(info.resource)) {
      running.pump.info = info;
      return;
    }
    // What is under way of a subscription that only changed to pull may end; of one that is gone it need not.
    if (running !== undefined) this.#end(id, running.pump, info !== undefined && isSame);
    if (info === undefined || !isPush(info.resource)) return;
    const { createdAt } = info.record;
    this.#pumps.set(id, { pump: new PushPump(this.#context, info), createdAt });
  }

  #end(id: string, pump: PushPump, inPeace: boolean): void {
    this.#pumps.delete(id);
    this.#ending.add(pump);
    const ending = (inPeace ? pump.drain() : pump.stop()).finally(() => {
      this.#ending.delete(pump);
      this.#endings.delete(ending);
    });
    this.#endings.add(ending);
  }
}
