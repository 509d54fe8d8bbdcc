import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Bus, BusHandlers, BusStream, Coordinator, Member } from '../contract.js';
import { BusCalls } from './bus-calls.js';
import { BusLines } from './bus-lines.js';
import { FrameSender } from './frame-sender.js';
import { decodeFailure, decodeFrame, FrameKind } from './frames.js';

const NO_RESPONDERS = 503;

export interface NatsBusOptions {
  readonly nc: NatsConnection;
  /** Says who this node is and who is there: streams with a member that left fail. */
  readonly coordinator: Coordinator;
  /** Subjects begin so; one a cluster. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Resolves when other nodes reach this one. */
export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const bus = new NatsBus(options);
  await options.nc.flush();
  return bus;
}

/**
 * Calls between nodes on NATS subjects: every node listens on `{prefix}.bus.{id}.>`. NATS keeps the order between two connections
 * and loses what was under way when one breaks; a call then ends by its timeout, a stream by the break itself, or by being asked (`bus-lines.ts`).
 */
class NatsBus implements Bus {
  readonly #o: NatsBusOptions;
  readonly #sender: FrameSender;
  readonly #calls: BusCalls;
  readonly #lines: BusLines;
  readonly #unwatch: () => void;
  readonly #subscription: Subscription;
  readonly #services = new Map<string, BusHandlers>();
  #lastCall = 0;

  constructor(options: NatsBusOptions) {
    this.#o = options;
    const { nc, coordinator, prefix, clock } = options;
    const { id } = coordinator.self;
    this.#sender = new FrameSender(nc, id, prefix);
    const handlersOf = (service: string): BusHandlers | undefined => this.#services.get(service);
    this.#calls = new BusCalls(this.#sender, handlersOf, clock);
    this.#lines = new BusLines(this.#sender, handlersOf, clock);
    this.#subscription = nc.subscribe(`${this.#sender.subjectOf(id)}.>`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
      },
    });
    this.#unwatch = coordinator.watchMembers((members) => this.#lines.keepOnly(members));
    void this.#followConnection();
  }

  async request(member: Member, service: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    return this.#calls.request(member, service, body, { call: this.#nextCall(), timeoutMs });
  }

  async open(member: Member, service: string): Promise<BusStream> {
    return this.#lines.open(this.#nextCall(), member, service);
  }

  serve(service: string, handlers: BusHandlers): () => void {
    if (this.#services.has(service))
      throw new BrokerError('already-exists', `service ${service} is registered`);
    this.#services.set(service, handlers);
    return () => {
      if (this.#services.get(service) === handlers) this.#services.delete(service);
    };
  }

  async close(): Promise<void> {
    if (this.#sender.closed) return;
    // The other ends of streams hear it; whoever waits for an answer from here runs into its timeout or into silence.
    this.#lines.endAll();
    this.#sender.closed = true;
    this.#unwatch();
    const closed = new BrokerError('draining', 'the bus is closed');
    this.#calls.failAll(closed);
    this.#lines.failAll(closed);
    this.#lines.close();
    this.#services.clear();
    this.#subscription.unsubscribe();
    await Promise.resolve();
  }

  /** Calls and streams share the numbers. Throws when the bus is closed. */
  #nextCall(): number {
    if (this.#sender.closed) throw new BrokerError('draining', 'the bus is closed');
    this.#lastCall = (this.#lastCall + 1) >>> 0;
    return this.#lastCall;
  }

  /** What was under way when the connection broke may be gone, so nothing that needs all of it goes on. */
  async #followConnection(): Promise<void> {
    for await (const status of this.#o.nc.status()) {
      if (status.type !== 'disconnect' || this.#sender.closed) continue;
      this.#lines.failAll(new BrokerError('unavailable', 'the connection to NATS broke'));
      this.#calls.forgetParts();
    }
  }

  #receive(message: Msg): void {
    if (this.#sender.closed) return;
    if (message.headers?.code === NO_RESPONDERS) {
      const call = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
      this.#fail(call, new BrokerError('unavailable', 'the member is not there'));
      return;
    }
    const frame = decodeFrame(message.data);
    if (frame === undefined) {
      this.#o.log.warn('a message on the bus cannot be read', { subject: message.subject });
      return;
    }
    switch (frame.kind) {
      case FrameKind.request:
        this.#calls.onRequest(frame);
        return;
      case FrameKind.open:
        this.#lines.onOpen(frame);
        return;
      case FrameKind.reply:
        this.#calls.onReply(frame);
        return;
      case FrameKind.fail:
        if (frame.caller === this.#sender.self) this.#calls.fail(frame.call, decodeFailure(frame.payload));
        this.#lines.onFrame(frame);
        return;
      default:
        this.#lines.onFrame(frame);
    }
  }

  #fail(call: number, error: BrokerError): void {
    this.#calls.fail(call, error);
    this.#lines.fail(call, error);
  }
}
