import type { Clock, Timer } from '../../../base/clock.js';
import type { Broker } from '../../../core/broker-api.js';
import { BrokerError } from '../../../core/errors.js';
import type { Origin, OutgoingMessage } from '../../../core/message.js';
import type { LeaseToken, SendOutcome } from '../../../core/queue/types.js';
import type { AmqpChannel } from '../channel/amqp-channel.js';
import type { Transaction } from '../channel/transaction.js';
import { AMQP_LIMITS } from '../config.js';
import { encodeOrigin } from '../mapping/message-origin.js';
import type { PublishProperties } from '../mapping/publish-properties.js';
import { readPublishProperties } from '../mapping/publish-properties.js';
import type { Exchange, Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { PublishMethod } from '../wire/command-reader.js';
import type { FieldTable } from '../wire/field-table.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import { decodeProperties } from '../wire/properties.js';
import { ReplyError } from '../wire/reply.js';

export interface PublisherHost {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly vhost: Vhost;
  readonly user: string;
  readonly writer: FrameWriter;
  flushSoon(): void;
  /** The broker takes nothing more for now, or takes it again: stop or go on reading. */
  onBlocked(reason: string): void;
  onUnblocked(): void;
  /** `pendingBytes` went down. */
  onProgress(): void;
  onFailure(caught: unknown): void;
}

/** Publishes handed to the broker in one call. Three lists of equal length, one place a publish. */
class Batch {
  readonly messages: OutgoingMessage[] = [];
  readonly channels: AmqpChannel[] = [];
  /** Confirm numbers; 0 without confirms. */
  readonly numbers: number[] = [];
  /** How many of the messages are this publish's: one for each queue it reached. */
  readonly counts: number[] = [];
  bytes = 0;
  ended = false;
  commit: Commit | undefined;
}

/** A batch that is one transaction: all of it or nothing, with acknowledgements. */
interface Commit {
  readonly acks: readonly LeaseToken[];
  readonly done: (stored: boolean) => void;
}

/** What is remembered of the last publish, because the next one is most often alike. */
interface LastRoute {
  readonly publish: PublishMethod;
  readonly version: number;
  readonly queues: readonly Queue[];
}

/**
 * Turns publishes into sends: all publishes of one read go to the broker in one call. When the broker has no room, batches
 * are held and tried again, nothing more is read, and the client is told.
 */
export class Publisher {
  readonly #host: PublisherHost;
  #batch = new Batch();
  /** Batches the broker had no room for, in order. */
  readonly #held: Batch[] = [];
  #retry: Timer | undefined;
  #stopped = false;
  #pendingBytes = 0;
  #lastRoute: LastRoute | undefined;
  #lastProperties: Buffer | undefined;
  #lastRead: PublishProperties | undefined;
  #lastOrigin: Origin | undefined;
  #lastOriginOf: PublishMethod | undefined;
  /** Since the connection began. */
  published = 0;
  returned = 0;

  constructor(host: PublisherHost) {
    this.#host = host;
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
    const read = this.#read(properties);
    const queues = this.#route(publish, read);
    this.published++;
    if (channel.transaction !== undefined) {
      this.#holdBack(channel.transaction, queues, { publish, read, body });
      return;
    }
    const number = channel.confirms?.take() ?? 0;
    if (queues.length === 0 && publish.args.mandatory) this.#return(channel, publish, read, body);
    const batch = this.#batch;
    if (queues.length > 0) {
      const origin = this.#origin(publish, read);
      for (const queue of queues) batch.messages.push(this.#message(queue, origin, read, body));
    }
    channel.publishesInFlight++;
    batch.channels.push(channel);
    batch.numbers.push(number);
    batch.counts.push(queues.length);
    batch.bytes += body.length;
    this.#pendingBytes += body.length;
    if (batch.messages.length >= AMQP_LIMITS.batchMessages || batch.bytes >= AMQP_LIMITS.batchBytes)
      this.flush();
  }

  #message(queue: Queue, origin: Origin, read: PublishProperties, body: Buffer): OutgoingMessage {
    return {
      channel: queue.channel,
      body,
      clientId: this.#host.user,
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
    const origin = this.#origin(publish, read);
    const returned = queues.length === 0 && publish.args.mandatory;
    if (returned) this.returned++;
    transaction.publish({
      queues,
      messages: queues.map((queue) => this.#message(queue, origin, read, body)),
      returned: returned ? { route: publish.route, properties: read.bytes, body } : undefined,
      bytes: body.length * Math.max(queues.length, 1),
    });
  }

  /** Stores messages and acknowledges deliveries, both or neither, behind everything published before. */
  async commit(messages: readonly OutgoingMessage[], acks: readonly LeaseToken[]): Promise<boolean> {
    if (messages.length === 0) {
      if (acks.length > 0)
        await this.#host.broker.settle({ tokens: acks, settlement: { kind: 'ack' }, durable: true });
      return true;
    }
    this.flush();
    return new Promise((done) => {
      const batch = new Batch();
      batch.messages.push(...messages);
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
    if (batch.messages.length === 0) {
      this.#done(batch, []);
      return;
    }
    const { commit } = batch;
    const options = commit === undefined ? undefined : { allOrNothing: true, acks: commit.acks };
    this.#host.broker.send(batch.messages, options).then(
      (outcomes) => this.#onOutcomes(batch, outcomes),
      (caught: unknown) => this.#onRefused(batch, caught),
    );
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
    const { channels, numbers, counts } = batch;
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

  #read(properties: Buffer): PublishProperties {
    if (this.#lastRead === undefined || this.#lastProperties !== properties) {
      this.#lastRead = readPublishProperties(properties);
      this.#lastProperties = properties;
      this.#lastOrigin = undefined;
    }
    return this.#lastRead;
  }

  #origin(publish: PublishMethod, read: PublishProperties): Origin {
    if (this.#lastOrigin === undefined || this.#lastOriginOf !== publish) {
      this.#lastOrigin = encodeOrigin(publish.route, read.bytes);
      this.#lastOriginOf = publish;
    }
    return this.#lastOrigin;
  }

  #route(publish: PublishMethod, read: PublishProperties): readonly Queue[] {
    const { vhost } = this.#host;
    const last = this.#lastRoute;
    const plain = read.extraKeys.length === 0;
    if (plain && last?.publish === publish && last.version === vhost.version) return last.queues;
    const exchange = this.#exchange(publish);
    const { routingKey } = publish.args;
    const keys = plain ? [routingKey] : [routingKey, ...read.extraKeys];
    let usesHeaders = false as boolean;
    const headers = (): FieldTable => {
      usesHeaders = true;
      return decodeProperties(read.bytes).headers ?? EMPTY_TABLE;
    };
    const queues = vhost.route(exchange, keys, headers);
    this.#lastRoute = plain && !usesHeaders ? { publish, version: vhost.version, queues } : undefined;
    return queues;
  }

  #exchange(publish: PublishMethod): Exchange | undefined {
    const { exchange: name, immediate } = publish.args;
    if (immediate) throw new ReplyError(540, 'immediate=true');
    if (name === '') return undefined;
    const { vhost } = this.#host;
    const exchange = vhost.exchanges.get(name);
    if (exchange === undefined) throw new ReplyError(404, `no exchange '${name}' in vhost '${vhost.name}'`);
    if (exchange.internal) {
      throw new ReplyError(403, `cannot publish to internal exchange '${name}' in vhost '${vhost.name}'`);
    }
    return exchange;
  }

  #return(channel: AmqpChannel, publish: PublishMethod, read: PublishProperties, body: Buffer): void {
    this.returned++;
    const content = { route: publish.route, properties: read.bytes, body };
    this.#host.writer.return(channel.number, 312, 'NO_ROUTE', content);
  }
}
