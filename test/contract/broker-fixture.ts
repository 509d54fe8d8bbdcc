import { afterEach, beforeEach } from 'vitest';
import type { ManualClock } from '../../src/base/clock.js';
import type { OpenBroker } from '../../src/core/broker.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import type { OutgoingMessage } from '../../src/core/message.js';
import type { Delivery, QueueSettings, ReceiveRequest } from '../../src/core/queue/types.js';
import { expect } from 'vitest';

/** A broker over one store, opened as often as a test likes. */
export interface BrokerHarness {
  readonly clock: ManualClock;
  open(): Promise<OpenBroker>;
  /** Ends the broker without its goodbye and opens the store again, with everything that was acknowledged as durable. */
  crash(): Promise<OpenBroker>;
  dispose(): Promise<void>;
}

export const queue = 'orders' as ChannelName;
export const dead = 'dead' as ChannelName;
export const log = 'events' as ChannelName;
export const on = (name: string): ChannelName => name as ChannelName;

export function text(delivery: { readonly message: { readonly body: Uint8Array } }): string {
  return Buffer.from(delivery.message.body).toString();
}

export function message(body: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { channel: queue, body: Buffer.from(body), ...more };
}

/** A broker of its own for each test, with the calls most of them make. */
export class Fixture {
  harness!: BrokerHarness;
  broker!: OpenBroker;

  constructor(factory: () => Promise<BrokerHarness>) {
    beforeEach(async () => {
      this.harness = await factory();
      this.broker = await this.harness.open();
    });
    afterEach(async () => {
      await this.broker.close();
      await this.harness.dispose();
    });
  }

  async create(channel: ChannelName, settings: Partial<QueueSettings> = {}): Promise<void> {
    await this.broker.change([{ do: 'create-queue', channel, settings }]);
  }

  async send(...bodies: string[]): Promise<void> {
    const outcomes = await this.broker.send(bodies.map((body) => message(body)));
    expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
  }

  receive(more: Partial<ReceiveRequest> = {}): Promise<readonly Delivery[]> {
    const handOut = { kind: 'lease', leaseMs: 30_000 } as const;
    return this.broker.receive({ channel: queue, max: 10, waitMs: 0, handOut, ...more });
  }

  /** What is ready, from the front. */
  async ready(channel: ChannelName = queue): Promise<string[]> {
    return (await this.broker.peek(channel, 100)).map(text);
  }
}
