import type { Broker } from '../broker-api.js';
import type { LogSubscription, SubscribeRequest } from '../log/types.js';
import type { Consumer, ConsumeRequest, Delivery, ReceiveRequest } from '../queue/types.js';
import type { GatedClient, PolicyGate } from './gatekeeper.js';
import type { AccessDenied } from './resource.js';

/** What one client takes over time: it was allowed when it began, and ends with the refusal when it is so no longer. */
export class AllowedWaits {
  readonly #gate: PolicyGate;
  readonly #broker: Broker;
  readonly #client: GatedClient;

  constructor(gate: PolicyGate, client: GatedClient) {
    this.#gate = gate;
    this.#broker = gate.broker;
    this.#client = client;
  }

  /** What was handed out before the right went is its receiver's. */
  async receive(request: ReceiveRequest): Promise<readonly Delivery[]> {
    const { channel, signal } = request;
    let refusal: AccessDenied | undefined;
    const over = new AbortController();
    const forget = this.#gate.track(this.#client, {
      requirement: { kind: 'queue', access: 'read', channel },
      end: (reason) => {
        refusal = reason;
        over.abort();
      },
    });
    const abort = (): void => over.abort();
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    try {
      const deliveries = await this.#broker.receive({ ...request, signal: over.signal });
      if (deliveries.length === 0 && refusal !== undefined) throw refusal;
      return deliveries;
    } finally {
      signal?.removeEventListener('abort', abort);
      forget();
    }
  }

  consume(request: ConsumeRequest): Consumer {
    let forget = (): void => undefined;
    const consumer = this.#broker.consume({
      ...request,
      onCancel: (reason) => {
        forget();
        request.onCancel(reason);
      },
    });
    forget = this.#gate.track(this.#client, {
      requirement: { kind: 'queue', access: 'read', channel: request.channel },
      end: (reason) => {
        consumer.cancel();
        request.onCancel(reason);
      },
    });
    return {
      grant: (count, bytes) => consumer.grant(count, bytes),
      cancel: () => {
        forget();
        consumer.cancel();
      },
    };
  }

  subscribe(request: SubscribeRequest): LogSubscription {
    const subscription = this.#broker.subscribe(request);
    let refusal: AccessDenied | undefined;
    const forget = this.#gate.track(this.#client, {
      requirement: { kind: 'log', access: 'read', channel: request.channel },
      end: (reason) => {
        refusal = reason;
        subscription.close();
      },
    });
    return {
      next: async (max) => {
        const events = await subscription.next(max);
        if (refusal !== undefined) throw refusal;
        return events;
      },
      advance: (sequence) => subscription.advance(sequence),
      close: () => {
        forget();
        subscription.close();
      },
    };
  }
}
