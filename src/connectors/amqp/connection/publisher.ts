import type { Clock, Timer } from '../../../base/clock.js';
import type { Broker } from '../../../core/broker-api.js';
import { BrokerError } from '../../../core/errors.js';
import type { Origin, OutgoingMessage } from '../../../core/message.js';
import type { LeaseToken, SendOutcome } from '../../../core/queue/types.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import type { AmqpChannel } from '../channel/amqp-channel.js';
import type { DirectReplies } from '../channel/direct-replies.js';
import { REPLY_QUEUE } from '../channel/direct-replies.js';
import type { Transaction } from '../channel/transaction.js';
import { AMQP_LIMITS } from '../config.js';
import type { PublishProperties } from '../mapping/publish-properties.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { PublishMethod } from '../wire/command-reader.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import { decodeProperties, encodeProperties } from '../wire/properties.js';
import { ReplyError } from '../wire/reply.js';
import type { Spread } from './batch.js';
import { Batch } from './batch.js';
import { keysOf, PublishRouter } from './publish-router.js';

export interface PublisherHost {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly vhost: Vhost;
  readonly identity: Identity;
  readonly access: AccessPolicy;
  readonly replies: DirectReplies;
  readonly writer: FrameWriter;
  flushSoon(): void;
  /** The broker takes nothing more for now, or takes it again: stop or go on reading. */
  onBlocked(reason: string): void;
  onUnblocked(): void;
  /** `pendingBytes` went down. */
  onProgress(): void;
  onFailure(caught: unknown): void;
}

/** RabbitMQ hands a message to a waiting consumer before the disk has it, and confirms it when the disk does. */
const EARLY = { early: true };

/** Whether one publish is more than one batch should be. */
function isWide(queues: number, bodyBytes: number): boolean {
  return queues > AMQP_LIMITS.widePublish || queues * bodyBytes > AMQP_LIMITS.batchBytes;
}

/**
 * Turns publishes into sends: all publishes of one read go to the broker in one call. When the broker has no room, batches
 * are held and tried again, nothing more is read, and the client is told.
 */
export class Publisher {
  readonly #host: PublisherHost;
  readonly #router: PublishRouter;
  readonly #checksUser: boolean;
  #batch = new Batch();
  /** Batches the broker had no room for, in order. */
  readonly #held: Batch[] = [];
  #retry: Timer | undefined;
  #stopped = false;
  #pendingBytes = 0;
  /** Since the connection began. */
  published = 0;
  returned = 0;

  constructor(host: PublisherHost) {
    this.#host = host;
    this.#router = new PublishRouter(host);
    this.#checksUser = host.access.enforced && !host.identity.tags.includes('impersonator');
  }

  /** Body bytes whose outcome is not known. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get blocked(): boolean {
    return this.#held.length > 0;
  }

  /** Takes one publish. Throws ReplyError when RabbitMQ would close the channel or connection for it. */
  publish(channel: AmqpChannel, publish: PublishMethod, properties: Buffer, body: Buffer): void {
    const read = this.#forReply(channel, this.#router.read(properties));
    if (read.userId !== undefined) this.#checkUser(read.userId);
    const queues = this.#router.route(publish, read);
    const replied =
      queues.length === 0 || read.extraKeys.length > 0 ? this.#reply(publish, read, body) : false;
    this.published++;
    if (channel.transaction !== undefined) {
      if (replied && queues.length === 0) return;
      this.#holdBack(channel.transaction, queues, { publish, read, body });
      return;
    }
    const number = channel.confirms?.take() ?? 0;
    if (queues.length === 0 && publish.args.mandatory && !replied) this.#return(channel, publish, read, body);
    if (queues.length > 1 && isWide(queues.length, body.length)) {
      this.#publishWide(channel, number, queues, { publish, read, body });
      return;
    }
    const batch = this.#batch;
    let count = 0;
    if (queues.length > 0) {
      const origin = this.#router.origin(publish, read);
      for (const queue of queues) {
        const message = this.#message(queue, origin, read, body);
        if (queue.type === 'stream') {
          batch.events.push(message);
        } else {
          batch.messages.push(message);
          count++;
        }
      }
    }
    channel.publishesInFlight++;
    batch.channels.push(channel);
    batch.numbers.push(number);
    batch.counts.push(count);
    batch.bytes += body.length;
    batch.sentBytes += body.length * queues.length;
    this.#pendingBytes += body.length;
    if (batch.messages.length >= AMQP_LIMITS.batchMessages || batch.sentBytes >= AMQP_LIMITS.batchBytes)
      this.flush();
  }

  /** 406 when a publish says it is somebody else's. */
  #checkUser(userId: string): void {
    const { user } = this.#host.identity;
    if (!this.#checksUser || userId === user) return;
    throw new ReplyError(406, `user_id property set to '${userId}' but authenticated user was '${user}'`);
  }

  /** One publish to so many queues that it takes several sends: each within the broker's bounds of a batch. */
  #publishWide(
    channel: AmqpChannel,
    number: number,
    queues: readonly Queue[],
    content: { readonly publish: PublishMethod; readonly read: PublishProperties; readonly body: Buffer },
  ): void {
    this.flush();
    const { read, body } = content;
    const origin = this.#router.origin(content.publish, read);
    const most = Math.max(1, Math.floor(AMQP_LIMITS.batchBytes / Math.max(1, body.length)));
    const step = Math.min(AMQP_LIMITS.widePublish, most);
    const spread: Spread = { parts: Math.ceil(queues.length / step), stored: true };
    this.#pendingBytes += body.length;
    channel.publishesInFlight++;
    for (let from = 0; from < queues.length; from += step) {
      const batch = this.#batch;
      for (const queue of queues.slice(from, from + step)) {
        const message = this.#message(queue, origin, read, body);
        if (queue.type === 'stream') batch.events.push(message);
        else batch.messages.push(message);
      }
      batch.channels.push(channel);
      batch.numbers.push(number);
      batch.counts.push(batch.messages.length);
      batch.spread = spread;
      // The body is pending until the last part has its outcome.
      if (from + step >= queues.length) batch.bytes = body.length;
      this.flush();
    }
  }

  /** A request that asks for its reply on this channel: `reply-to` becomes the name of the channel's consumer. */
  #forReply(channel: AmqpChannel, read: PublishProperties): PublishProperties {
    if (read.replyTo !== REPLY_QUEUE) return read;
    const { replyConsumer } = channel;
    if (replyConsumer === undefined) throw new ReplyError(406, 'fast reply consumer does not exist');
    const properties = { ...decodeProperties(read.bytes), replyTo: replyConsumer.name };
    return { ...read, replyTo: replyConsumer.name, bytes: encodeProperties(properties) };
  }

  /** A reply goes straight to who asked, also from a transaction; true when somebody took it. */
  #reply(publish: PublishMethod, read: PublishProperties, body: Buffer): boolean {
    const { exchange, routingKey } = publish.args;
    if (exchange !== '') return false;
    const { replies, vhost } = this.#host;
    let taken = false;
    for (const key of read.extraKeys.length === 0 ? [routingKey] : new Set([routingKey, ...read.extraKeys])) {
      const consumer = replies.find(vhost, key);
      if (consumer?.deliver({ route: publish.route, properties: read.bytes, body }) === true) taken = true;
    }
    return taken;
  }

  #message(queue: Queue, origin: Origin, read: PublishProperties, body: Buffer): OutgoingMessage {
    return {
      channel: queue.channel,
      body,
      clientId: this.#host.identity.user,
      policy: read.policy,
      origin,
      priority: read.priority,
      transient: read.transient,
    };
  }

  /** In a transaction: routed now, sent and returned at its commit. */
  #holdBack(
    transaction: Transaction,
    queues: readonly Queue[],
    content: { readonly publish: PublishMethod; readonly read: PublishProperties; readonly body: Buffer },
  ): void {
    const { publish, read, body } = content;
    const origin = this.#router.origin(publish, read);
    const returned = queues.length === 0 && publish.args.mandatory;
    if (returned) this.returned++;
    transaction.publish({
      exchange: publish.args.exchange,
      keys: keysOf(publish, read),
      queues,
      messages: queues.map((queue) => this.#message(queue, origin, read, body)),
      returned: returned ? { route: publish.route, properties: read.bytes, body } : undefined,
      bytes: body.length * Math.max(queues.length, 1),
    });
  }

  /** Stores messages and acknowledges deliveries, both or neither, behind everything published before. */
  async commit(
    messages: readonly OutgoingMessage[],
    events: readonly OutgoingMessage[],
    acks: readonly LeaseToken[],
  ): Promise<boolean> {
    if (messages.length === 0 && events.length === 0) {
      if (acks.length > 0)
        await this.#host.broker.settle({ tokens: acks, settlement: { kind: 'ack' }, durable: true });
      return true;
    }
    this.flush();
    return new Promise((done) => {
      const batch = new Batch();
      batch.messages.push(...messages);
      batch.events = [...events];
      batch.commit = { acks, done };
      if (this.blocked) this.#held.push(batch);
      else this.#send(batch);
    });
  }

  /** Hands what was gathered to the broker. */
  flush(): void {
    const batch = this.#batch;
    if (batch.channels.length === 0) return;
    this.#batch = new Batch();
    if (this.blocked) {
      this.#held.push(batch);
      return;
    }
    this.#send(batch);
  }

  /** Forgets what was not sent yet. */
  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    for (const batch of this.#held.splice(0)) this.#done(batch, undefined);
  }

  #send(batch: Batch): void {
    if (batch.messages.length === 0 && batch.events.length === 0) {
      this.#done(batch, []);
      return;
    }
    const sent = batch.events.length === 0 ? this.#sendMessages(batch) : this.#sendBoth(batch);
    sent.then(
      (outcomes) => this.#onOutcomes(batch, outcomes),
      (caught: unknown) => this.#onRefused(batch, caught),
    );
  }

  #sendMessages(batch: Batch): Promise<readonly SendOutcome[]> {
    const { commit } = batch;
    const options = commit === undefined ? EARLY : { allOrNothing: true, acks: commit.acks };
    return this.#host.broker.send(batch.messages, options);
  }

  /**
   * Queues and streams are written in two entries. In a transaction the streams follow once the queues have taken theirs. What was
   * stored is not stored again when the batch is tried again.
   */
  async #sendBoth(batch: Batch): Promise<readonly SendOutcome[]> {
    const { broker } = this.#host;
    const append = async (): Promise<void> => {
      // A stream that was deleted meanwhile takes nothing, like a queue.
      const events = batch.events.filter((event) => broker.logStats(event.channel) !== undefined);
      if (events.length > 0) await broker.append(events);
      batch.events = [];
    };
    const send = async (): Promise<readonly SendOutcome[]> => {
      batch.outcomes ??= batch.messages.length === 0 ? [] : await this.#sendMessages(batch);
      return batch.outcomes;
    };
    if (batch.commit !== undefined) {
      if (batch.messages.length === 0 && batch.outcomes === undefined && batch.commit.acks.length > 0) {
        await broker.settle({ tokens: batch.commit.acks, settlement: { kind: 'ack' }, durable: true });
      }
      const outcomes = await send();
      if (outcomes.every((outcome) => outcome.ok)) await append();
      return outcomes;
    }
    const [sent, appended] = await Promise.allSettled([send(), append()]);
    if (sent.status === 'rejected') throw sent.reason;
    if (appended.status === 'rejected') throw appended.reason;
    return sent.value;
  }

  #onOutcomes(batch: Batch, outcomes: readonly SendOutcome[]): void {
    this.#done(batch, outcomes);
    this.#goOn(batch);
  }

  /** `batch` has its outcome: if others were held behind it, it is their turn. */
  #goOn(batch: Batch): void {
    if (this.#held.indexOf(batch) !== 0) return;
    this.#held.shift();
    const [next] = this.#held;
    if (next !== undefined) this.#send(next);
    else this.#host.onUnblocked();
  }

  #onRefused(batch: Batch, caught: unknown): void {
    const error = BrokerError.from(caught);
    if (error.kind === 'unavailable' && !this.#stopped) {
      this.#hold(batch, error);
      return;
    }
    if (error.kind !== 'draining') this.#host.onFailure(error);
    this.#done(batch, undefined);
    this.#goOn(batch);
  }

  #hold(batch: Batch, error: BrokerError): void {
    const first = this.#held.length === 0;
    if (!this.#held.includes(batch)) this.#held.push(batch);
    if (first) this.#host.onBlocked(error.message);
    this.#retry ??= this.#host.clock.after(AMQP_LIMITS.blockedRetryMs, () => {
      this.#retry = undefined;
      const next = this.#held[0];
      if (next !== undefined) this.#send(next);
    });
  }

  /** `outcomes` undefined: nothing of the batch was stored. */
  #done(batch: Batch, outcomes: readonly SendOutcome[] | undefined): void {
    if (batch.ended) return;
    batch.ended = true;
    this.#pendingBytes -= batch.bytes;
    const { channels, numbers, counts, spread } = batch;
    if (spread !== undefined) {
      if (outcomes?.every((outcome) => outcome.ok) !== true) spread.stored = false;
      if (--spread.parts > 0) return;
      if (!spread.stored) outcomes = undefined;
    }
    let at = 0;
    let last: AmqpChannel | undefined;
    let run = 0;
    for (let i = 0; i < channels.length; i++) {
      const channel = channels[i] as AmqpChannel;
      if (channel !== last) {
        last?.publishesEnded(run);
        last?.confirms?.flush();
        last = channel;
        run = 0;
      }
      run++;
      const count = counts[i] ?? 0;
      let stored = outcomes !== undefined || count === 0;
      for (const end = at + count; at < end; at++) if (outcomes?.[at]?.ok === false) stored = false;
      const number = numbers[i] ?? 0;
      if (number > 0) channel.confirms?.resolve(number, stored);
    }
    last?.confirms?.flush();
    last?.publishesEnded(run);
    batch.commit?.done(outcomes?.every((outcome) => outcome.ok) === true);
    this.#host.flushSoon();
    this.#host.onProgress();
  }

  #return(channel: AmqpChannel, publish: PublishMethod, read: PublishProperties, body: Buffer): void {
    this.returned++;
    const content = { route: publish.route, properties: read.bytes, body };
    this.#host.writer.return(channel.number, 312, 'NO_ROUTE', content);
  }
}
