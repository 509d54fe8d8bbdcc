import { BrokerError } from '../../../core/errors.js';
import type { Consumer as BrokerConsumer, Delivery } from '../../../core/queue/types.js';
import { refusedPermission } from '../access/refused.js';
import { AMQP_LIMITS } from '../config.js';
import { withFittingTrail } from '../mapping/death-headers.js';
import { withIntegerHeader } from '../mapping/extra-header.js';
import { foreignParts } from '../mapping/foreign-message.js';
import type { MessageParts } from '../mapping/message-origin.js';
import { partsOf } from '../mapping/message-origin.js';
import type { Queue } from '../topology/types.js';
import { ReplyError } from '../wire/reply.js';
import { AckTimeouts } from './ack-timeouts.js';
import { Confirms } from './confirms.js';
import type { ConsumerOptions } from './consumer.js';
import { Consumer } from './consumer.js';
import type { ReplyConsumer } from './direct-replies.js';
import type { ChannelHost, SettleHow } from './host.js';
import { StreamReader } from './stream-reader.js';
import type { HeldSettlement, Transaction } from './transaction.js';
import type { Unacked } from './unacked.js';
import { isStreamDelivery, UnackedDeliveries } from './unacked.js';

/** What an AMQP channel holds between two commands. The operations in `operations/` work on it. */
export class AmqpChannel {
  readonly number: number;
  readonly host: ChannelHost;
  readonly consumers = new Map<string, Consumer>();
  /** Set by confirm.select. */
  confirms: Confirms | undefined;
  /** Set by tx.select. */
  transaction: Transaction | undefined;
  /** Who gets replies to what this channel asks (direct reply-to). */
  replyConsumer: ReplyConsumer | undefined;
  /** What an empty queue name stands for: the last queue declared on this channel. */
  lastQueue = '';
  /** Prefetch of consumers started from now on; 0 = unlimited. */
  prefetch = 0;
  /** Publishes handed to the broker whose outcome is not known. */
  publishesInFlight = 0;
  closed = false;
  /** Whether consumers get messages (channel.flow). */
  flowing = true;
  /** Prefetch shared by all consumers (basic.qos with global); 0 = unlimited. */
  #sharedPrefetch = 0;
  /** Deliveries that count against the shared prefetch. */
  #sharedUnacked = 0;
  #lastDeliveryTag = 0;
  readonly #unacked = new UnackedDeliveries();
  #publishWaiters: (() => void)[] = [];
  #ackTimeouts: AckTimeouts | undefined;

  constructor(number: number, host: ChannelHost) {
    this.number = number;
    this.host = host;
  }

  enableConfirms(): void {
    const { writer } = this.host;
    this.confirms ??= new Confirms({
      ack: (tag, multiple) => writer.ack(this.number, tag, multiple),
      nack: (tag) => writer.nack(this.number, tag),
    });
  }

  /** Resolves when the outcome of every publish so far is known; undefined when there is nothing to wait for. */
  publishesDone(): Promise<void> | undefined {
    if (this.publishesInFlight === 0) return undefined;
    return new Promise((resolve) => this.#publishWaiters.push(resolve));
  }

  /** `count` publishes have their outcome. */
  publishesEnded(count: number): void {
    this.publishesInFlight -= count;
    if (this.publishesInFlight > 0 || this.#publishWaiters.length === 0) return;
    for (const resolve of this.#publishWaiters.splice(0)) resolve();
  }

  // Consuming ------------------------------------------------------------------------------------------------

  /** Starts a consumer. Throws `forbidden` when others consume exclusively, `not-found` when the queue's channel is gone. */
  addConsumer(options: ConsumerOptions): void {
    if (this.consumers.size >= AMQP_LIMITS.consumersPerChannel) {
      throw new ReplyError(
        506,
        `limit of ${AMQP_LIMITS.consumersPerChannel} consumers on a channel is reached`,
      );
    }
    const consumer = new Consumer(options, this, (self, credit) => this.#startHandOut(self, credit));
    this.consumers.set(options.tag, consumer);
    options.queue.consumers++;
    try {
      this.#run(consumer);
    } catch (caught) {
      this.consumers.delete(options.tag);
      options.queue.consumers--;
      throw caught;
    }
    const { access, identity, vhost } = this.host;
    consumer.forgetRight = access.whileReadable(identity, vhost.name, options.queue.name, () =>
      this.#onRightGone(consumer),
    );
  }

  /** Its client is told what it understands: that the consumer is over, or why the channel is. */
  #onRightGone(consumer: Consumer): void {
    const { identity, vhost } = this.host;
    const refusal = refusedPermission(`queue '${consumer.options.queue.name}'`, vhost.name, identity);
    if (this.host.capabilities.consumerCancelNotify)
      this.#onConsumerGone(consumer, new BrokerError('forbidden', refusal.message));
    else this.host.closeChannel(this, refusal);
  }

  #startHandOut(consumer: Consumer, credit: number): BrokerConsumer {
    const { broker } = this.host;
    const { queue, noAck, priority, exclusive, single } = consumer.options;
    const common = {
      channel: queue.channel,
      credit,
      creditBytes: AMQP_LIMITS.consumerWindowBytes,
      onDeliveries: (deliveries: readonly Delivery[]) => this.#onDeliveries(consumer, deliveries),
      onCancel: (reason: BrokerError) => this.#onConsumerGone(consumer, reason),
    };
    if (queue.type === 'stream') {
      return new StreamReader(broker, { ...common, sequence: consumer.streamSequence });
    }
    const handOut = noAck ? ({ kind: 'auto' } as const) : ({ kind: 'lease', leaseMs: 0 } as const);
    return broker.consume({ ...common, handOut, priority, exclusive, single, early: true });
  }

  /** Ends a consumer; its unacknowledged deliveries stay with the channel. */
  removeConsumer(tag: string): Consumer | undefined {
    const consumer = this.consumers.get(tag);
    if (consumer === undefined) return undefined;
    consumer.end();
    this.consumers.delete(tag);
    consumer.options.queue.consumers--;
    this.host.topology.touch(consumer.options.queue);
    return consumer;
  }

  /** Prefetch all consumers share; 0 = unlimited. */
  get sharedPrefetch(): number {
    return this.#sharedPrefetch;
  }

  get unackedCount(): number {
    return this.#unacked.size;
  }

  /** Changes the prefetch all consumers share; it holds at once. */
  setSharedPrefetch(count: number): void {
    this.#sharedPrefetch = count;
    this.runConsumers();
  }

  setFlow(active: boolean): void {
    this.flowing = active;
    if (active) this.runConsumers();
    else for (const consumer of this.consumers.values()) consumer.pause();
  }

  /** Starts or tops up every consumer as far as prefetch allows. */
  runConsumers(): void {
    // A copy: who is served moves to the end.
    for (const consumer of [...this.consumers.values()]) this.#run(consumer);
  }

  #run(consumer: Consumer): void {
    const { prefetch, noAck, tag } = consumer.options;
    // Credit may still be due for a consumer that was cancelled in the same turn.
    if (!this.flowing || this.closed || this.consumers.get(tag) !== consumer) return;
    const own = prefetch - consumer.unacked;
    const room = this.#sharedRoom();
    // Who acknowledges nothing takes nothing of a shared prefetch, and waits while it is used up (measured on RabbitMQ).
    if (!noAck) consumer.run(Math.min(own, room));
    else if (room > 0) consumer.run(prefetch);
  }

  #sharedRoom(): number {
    return this.#sharedPrefetch === 0 ? Infinity : this.#sharedPrefetch - this.#sharedUnacked;
  }

  #onDeliveries(consumer: Consumer, deliveries: readonly Delivery[]): void {
    let bytes = 0;
    let over = false;
    if (consumer.options.queue.type === 'stream') {
      this.#onStreamDeliveries(consumer, deliveries);
      return;
    }
    for (const delivery of deliveries) {
      if (!consumer.options.noAck && (this.#sharedRoom() <= 0 || !this.flowing)) {
        // Consumers of this channel share a prefetch, and another one has used it up meanwhile.
        this.host.settle(delivery, 'return-uncounted');
        bytes += delivery.message.body.length;
        over = true;
        continue;
      }
      bytes += this.#deliver(consumer, delivery);
    }
    consumer.took(deliveries.length, bytes);
    if (this.#sharedPrefetch > 0) this.#serveLast(consumer);
    if (consumer.markDue()) this.host.creditDue(consumer);
    if (over) this.host.flushSettlements();
    if (this.#sharedRoom() <= 0) this.#parkConsumers();
    this.host.flushSoon();
  }

  /** What there is no room for is read again later: a stream keeps it. */
  #onStreamDeliveries(consumer: Consumer, deliveries: readonly Delivery[]): void {
    let bytes = 0;
    let count = 0;
    for (const delivery of deliveries) {
      if (this.#sharedRoom() <= 0 || !this.flowing) {
        consumer.stop();
        break;
      }
      bytes += this.#deliver(consumer, delivery);
      consumer.streamSequence = delivery.sequence + 1;
      count++;
    }
    consumer.took(count, bytes);
    if (consumer.markDue()) this.host.creditDue(consumer);
    this.host.flushSoon();
  }

  /** Writes one delivery; returns the bytes of its body. */
  #deliver(consumer: Consumer, delivery: Delivery): number {
    const tag = ++this.#lastDeliveryTag;
    const { noAck, queue } = consumer.options;
    if (!noAck) {
      const { channel, sequence, attempt } = delivery;
      this.#unacked.add(tag, { channel, sequence, attempt, queue, consumer });
      consumer.unacked++;
      this.#sharedUnacked++;
      const { ackTimeoutMs } = consumer.options;
      if (ackTimeoutMs > 0) this.#timeouts().add(tag, ackTimeoutMs);
    }
    const { body } = delivery.message;
    const { route, properties } = this.partsOf(delivery, queue, 'consumer');
    this.host.writer.deliver(this.number, consumer.tagBytes, tag, delivery.redelivered, {
      route,
      properties,
      body,
    });
    return body.length;
  }

  /** How replies are written to this channel: under the number of the next delivery, as RabbitMQ does; dropped when its client does not read. */
  replyDelivery(tagBytes: Buffer): ReplyConsumer['deliver'] {
    return (content) => {
      if (this.host.bufferedBytes > AMQP_LIMITS.replyBufferBytes) return false;
      this.host.writer.deliver(this.number, tagBytes, this.#lastDeliveryTag + 1, false, content);
      this.host.flushSoon();
      return true;
    };
  }

  dropReplyConsumer(): void {
    if (this.replyConsumer !== undefined) this.host.replies.remove(this.replyConsumer);
    this.replyConsumer = undefined;
  }

  #parkConsumers(): void {
    for (const consumer of this.consumers.values()) consumer.pause();
  }

  /** Consumers that share a prefetch take turns: the one that was served comes last. */
  #serveLast(consumer: Consumer): void {
    const { tag } = consumer.options;
    if (this.consumers.get(tag) !== consumer) return;
    this.consumers.delete(tag);
    this.consumers.set(tag, consumer);
  }

  #onConsumerGone(consumer: Consumer, reason: BrokerError): void {
    const { tag, queue } = consumer.options;
    if (this.consumers.get(tag) !== consumer) return;
    consumer.end();
    this.consumers.delete(tag);
    queue.consumers--;
    if (this.closed || reason.kind === 'draining' || !this.host.capabilities.consumerCancelNotify) return;
    // Behind the answer to the command that did it, when that came on this channel.
    setImmediate(() => {
      if (this.closed) return;
      this.host.writer.method(this.number, 'basic.cancel', { consumerTag: tag, nowait: true });
      this.host.flushSoon();
    });
  }

  /** Exchange, key and properties a delivery shows. Consumers are told of deliveries before this one, a get is also told of none (measured on RabbitMQ). */
  partsOf(delivery: Delivery, queue: Queue, to: 'consumer' | 'get'): MessageParts {
    const { frameMax } = this.host;
    const stored = partsOf(delivery.message);
    const parts =
      stored === undefined
        ? foreignParts(delivery.message, queue.name, frameMax)
        : withFittingTrail(stored, frameMax);
    switch (queue.type) {
      case 'classic':
        return parts;
      case 'quorum':
        return to === 'consumer' && delivery.receiveCount === 1
          ? parts
          : withIntegerHeader(parts, 'x-delivery-count', delivery.receiveCount - 1, frameMax);
      case 'stream':
        return withIntegerHeader(parts, 'x-stream-offset', delivery.sequence - 1, frameMax);
    }
  }

  // Acknowledging --------------------------------------------------------------------------------------------

  /** Registers a message taken with basic.get; returns its delivery tag. */
  addTaken(delivery: Delivery, queue: Queue, noAck: boolean, ackTimeoutMs: number): number {
    const tag = ++this.#lastDeliveryTag;
    const { channel, sequence, attempt } = delivery;
    if (noAck) return tag;
    this.#unacked.add(tag, { channel, sequence, attempt, queue, consumer: undefined });
    if (ackTimeoutMs > 0) this.#timeouts().add(tag, ackTimeoutMs);
    return tag;
  }

  /**
   * Settles the delivery with `tag`; with `multiple` all up to it, 0 standing for all there are. 406 when the tag is not
   * outstanding.
   */
  settle(tag: number, multiple: boolean, how: SettleHow): void {
    if (!multiple) {
      this.#settleOne(tag, how);
      return;
    }
    for (const outstanding of this.#unacked.upTo(tag)) this.#settleOne(outstanding, how);
  }

  #settleOne(tag: number, how: SettleHow): void {
    if (this.host.access.asksAlways) this.#requireHeld(this.#unacked.find(tag));
    const unacked = this.#unacked.take(tag);
    if (how !== 'ack' && isStreamDelivery(unacked)) throw this.#cannotGoBack(unacked);
    if (this.transaction !== undefined) {
      this.transaction.settle({ tag, unacked, how });
      return;
    }
    if (!isStreamDelivery(unacked)) this.host.settle(unacked, how);
    this.#settled(unacked);
  }

  /** By the rules, what a client has of a queue that it may not read any more is its own no longer. RabbitMQ does not ask. */
  #requireHeld(unacked: Unacked | undefined): void {
    const { access, identity, vhost } = this.host;
    if (unacked === undefined || access.allows(identity, vhost.name, 'read', unacked.queue.name)) return;
    throw refusedPermission(`queue '${unacked.queue.name}'`, vhost.name, identity);
  }

  #cannotGoBack({ queue: { name } }: Unacked): ReplyError {
    return new ReplyError(
      540,
      `basic.nack and basic.reject not supported by stream queues queue '${name}' in vhost '${this.host.vhost.name}'`,
    );
  }

  #timeouts(): AckTimeouts {
    this.#ackTimeouts ??= new AckTimeouts(this.host.clock, {
      isOutstanding: (tag) => {
        const unacked = this.#unacked.find(tag);
        return unacked !== undefined && unacked.late !== true;
      },
      onLate: (tag, timeoutMs) => this.#onLate(tag, timeoutMs),
    });
    return this.#ackTimeouts;
  }

  /**
   * A delivery was not acknowledged in time: its consumer is cancelled and what it held goes back, when the client understands that;
   * else, and for a get, the channel is closed.
   */
  #onLate(tag: number, timeoutMs: number): void {
    const consumer = this.#unacked.find(tag)?.consumer;
    if (consumer === undefined || !this.host.capabilities.consumerCancelNotify) {
      const text = `delivery acknowledgement on channel ${this.number} timed out. Timeout value used: ${timeoutMs} ms. This timeout value can be configured, see consumers doc guide to learn more`;
      this.host.closeChannel(this, new ReplyError(406, text));
      return;
    }
    // First it stops, or what goes back would come to it again.
    if (this.removeConsumer(consumer.options.tag) !== undefined) {
      const { tag: consumerTag } = consumer.options;
      this.host.writer.method(this.number, 'basic.cancel', { consumerTag, nowait: true });
    }
    for (const [held, unacked] of this.#unacked.of(consumer)) {
      if (!isStreamDelivery(unacked)) this.host.settle(unacked, 'requeue');
      this.#settled(unacked);
      // A late acknowledgement is no mistake: it finds its delivery, and changes nothing.
      this.#unacked.replace(held, { ...unacked, consumer: undefined, late: true });
    }
    this.host.flushSettlements();
    this.host.flushSoon();
  }

  /** It no longer counts against a prefetch. */
  #settled({ consumer }: Unacked): void {
    if (consumer === undefined) return;
    this.#sharedUnacked--;
    consumer.unacked--;
    if (consumer.markDue()) this.host.creditDue(consumer);
  }

  /** Gives everything unacknowledged back to its place in the queues. */
  requeueAll(): void {
    for (const tag of this.#unacked.upTo(0)) {
      // A stream still has what it delivered.
      if (isStreamDelivery(this.#unacked.find(tag) as Unacked)) continue;
      const unacked = this.#unacked.take(tag);
      this.host.settle(unacked, 'requeue');
      this.#settled(unacked);
    }
  }

  /** What was to be settled with a transaction waits again: it was rolled back, or failed. */
  restore(settlements: readonly HeldSettlement[]): void {
    this.#unacked.restore(settlements.map(({ tag, unacked }) => [tag, unacked]));
    if (this.closed) this.requeueAll();
  }

  /** A transaction was stored, with its acknowledgements; the other settlements follow now. */
  committed(settlements: readonly HeldSettlement[]): void {
    for (const { unacked, how } of settlements) {
      if (how !== 'ack' && !isStreamDelivery(unacked)) this.host.settle(unacked, how);
      this.#settled(unacked);
    }
  }

  /** Credit of `consumer` is due: its own, or everybody's when a prefetch is shared. */
  giveBack(consumer: Consumer): void {
    if (this.#sharedPrefetch > 0 && !consumer.options.noAck) this.runConsumers();
    this.#run(consumer);
  }

  /** Ends the channel: consumers stop, what was not acknowledged goes back. */
  end(): readonly Queue[] {
    this.closed = true;
    this.#ackTimeouts?.stop();
    this.dropReplyConsumer();
    // What was not confirmed by now never will be: the channel is gone.
    this.confirms = undefined;
    const queues = [...this.consumers.values()].map((consumer) => consumer.options.queue);
    for (const tag of [...this.consumers.keys()]) this.removeConsumer(tag);
    this.restore(this.transaction?.take().settlements ?? []);
    return queues;
  }
}
