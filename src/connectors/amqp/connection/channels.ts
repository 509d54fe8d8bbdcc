import { AmqpChannel } from '../channel/amqp-channel.js';
import type { Command } from '../channel/command-queue.js';
import { CommandQueue } from '../channel/command-queue.js';
import { isInOrder, operationOf, runBehindLetters } from '../channel/dispatch.js';
import type { ChannelHost } from '../channel/host.js';
import { deleteUnused } from '../channel/operations/auto-delete.js';
import { replyErrorOf } from '../errors.js';
import type { PublishMethod } from '../wire/command-reader.js';
import type { Method, MethodName } from '../wire/methods.js';
import { shapeOf } from '../wire/methods.js';
import { ReplyError } from '../wire/reply.js';
import type { Publisher } from './publisher.js';

export interface ChannelsHost extends ChannelHost {
  readonly publisher: Publisher;
  readonly channelMax: number;
  /** A hard error, and the method that caused it. */
  closeConnection(error: ReplyError, culprit: MethodName | undefined): void;
  /** Commands outside a socket read were carried out: hand over what they gathered. */
  endOfTurn(): void;
  /** More or fewer bytes wait behind slow commands. */
  onWaitingChanged(): void;
}

interface OpenChannel {
  readonly channel: AmqpChannel;
  readonly queue: CommandQueue;
}

/**
 * The open channels of one connection. Commands of a channel are carried out in their order; one that takes its time holds
 * up its own channel only. A refusal closes the channel, or the connection when the code says so.
 */
export class Channels {
  readonly #host: ChannelsHost;
  readonly #open = new Map<number, OpenChannel>();
  /** Channels we closed and whose close-ok is still to come: whatever else arrives on them is not for us. */
  readonly #closing = new Set<number>();
  /** Queues with a command under way. */
  readonly #slow = new Set<CommandQueue>();
  #last: OpenChannel | undefined;

  constructor(host: ChannelsHost) {
    this.#host = host;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Those that are open, by number. */
  all(): readonly AmqpChannel[] {
    return [...this.#open.values()].map(({ channel }) => channel);
  }

  /** Bytes of commands that wait behind slow ones. */
  get waitingBytes(): number {
    let bytes = 0;
    for (const queue of this.#slow) bytes += queue.bytes;
    return bytes;
  }

  onMethod(number: number, method: Method): void {
    if (this.#closing.has(number)) {
      this.#onMethodWhileClosing(number, method);
      return;
    }
    const open = this.#open.get(number);
    if (method.name === 'channel.open') {
      if (open !== undefined) throw new ReplyError(504, "second 'channel.open' seen");
      this.#openChannel(number);
    } else if (open === undefined) {
      throw new ReplyError(504, "expected 'channel.open'");
    } else {
      this.#take(open, { kind: 'method', method });
    }
  }

  onPublish(number: number, publish: PublishMethod, properties: Buffer, body: Buffer): void {
    const open = this.#forContent(number);
    if (open === undefined) return;
    if (open.queue.busy || open.queue.length > 0) {
      this.#take(open, { kind: 'publish', publish, properties, body });
      return;
    }
    // The hot path: no command object.
    try {
      this.#host.publisher.publish(open.channel, publish, properties, body);
    } catch (caught) {
      this.#refuse(open, caught, 'basic.publish');
    }
  }

  onOversize(number: number, publish: PublishMethod, size: number): void {
    const open = this.#forContent(number);
    if (open !== undefined) this.#take(open, { kind: 'oversize', publish, size });
  }

  /** Ends every channel: what was not acknowledged goes back, auto-delete queues go. */
  async endAll(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    this.#closing.clear();
    this.#last = undefined;
    const left = all.flatMap(({ channel, queue }) => {
      queue.clear();
      return channel.end();
    });
    this.#host.flushSettlements();
    await Promise.all(all.map(({ channel }) => channel.publishesDone() ?? Promise.resolve()));
    await deleteUnused(this.#host, left);
  }

  /** Resolves when every publish so far has its outcome. */
  async publishesDone(): Promise<void> {
    await Promise.all(
      [...this.#open.values()].map(({ channel }) => channel.publishesDone() ?? Promise.resolve()),
    );
  }

  /** Closes a channel for a reason of the broker's own: no method caused it. */
  refuse(channel: AmqpChannel, error: ReplyError): void {
    const open = this.#open.get(channel.number);
    if (open?.channel === channel) this.#refuse(open, error, undefined);
  }

  #openChannel(number: number): void {
    const { channelMax, identity, limits, writer } = this.#host;
    if (this.#open.size >= channelMax) {
      throw new ReplyError(
        530,
        `number of channels opened (${this.#open.size}) has reached the negotiated channel_max (${channelMax})`,
        { culprit: { classId: 0, methodId: 0 } },
      );
    }
    limits.requireChannel(identity.user);
    this.#open.set(number, { channel: new AmqpChannel(number, this.#host), queue: new CommandQueue() });
    writer.method(number, 'channel.open-ok', { reserved1: Buffer.alloc(0) });
  }

  #onMethodWhileClosing(number: number, method: Method): void {
    if (method.name === 'channel.close-ok') {
      this.#closing.delete(number);
    } else if (method.name === 'channel.close') {
      // Both sides closed at once: answer, and still wait for the answer to ours.
      this.#host.writer.method(number, 'channel.close-ok', {});
    }
  }

  /** The channel content is for; undefined when it is to be ignored. */
  #forContent(number: number): OpenChannel | undefined {
    const last = this.#last;
    if (last?.channel.number === number) return last;
    if (this.#closing.has(number)) return undefined;
    const open = this.#open.get(number);
    if (open === undefined) throw new ReplyError(504, "expected 'channel.open'");
    this.#last = open;
    return open;
  }

  #take(open: OpenChannel, command: Command): void {
    if (open.queue.busy || open.queue.length > 0) {
      open.queue.push(command);
      this.#host.onWaitingChanged();
      return;
    }
    this.#carryOut(open, command);
  }

  #carryOut(open: OpenChannel, command: Command): void {
    const name = nameOf(command);
    try {
      const running = this.#run(open, command);
      if (running !== undefined) this.#wait(open, running, name);
    } catch (caught) {
      this.#refuse(open, caught, name);
    }
  }

  #run(open: OpenChannel, command: Command): Promise<void> | undefined {
    const { channel } = open;
    switch (command.kind) {
      case 'publish':
        this.#host.publisher.publish(channel, command.publish, command.properties, command.body);
        return undefined;
      case 'oversize': {
        const { maxMessageSize } = this.#host.config;
        throw new ReplyError(406, `message size ${command.size} is larger than max size ${maxMessageSize}`);
      }
      case 'method':
        return this.#runMethod(open, command.method);
    }
  }

  #runMethod(open: OpenChannel, method: Method): Promise<void> | undefined {
    const { channel } = open;
    if (method.name === 'channel.close') return this.#onClose(open);
    const operation = operationOf(method);
    if (operation === undefined) throw new ReplyError(503, 'unimplemented method');
    if (!isInOrder(operation, channel, method))
      return operation.run(channel, method.args as never) ?? undefined;
    this.#host.publisher.flush();
    this.#host.flushSettlements();
    const done = channel.publishesDone();
    if (done === undefined) return runBehindLetters(operation, channel, method);
    return done.then(() => (channel.closed ? undefined : runBehindLetters(operation, channel, method)));
  }

  async #onClose(open: OpenChannel): Promise<void> {
    const { channel, queue } = open;
    this.#host.publisher.flush();
    this.#forget(channel.number);
    queue.clear();
    const left = channel.end();
    this.#host.flushSettlements();
    await channel.publishesDone();
    await deleteUnused(this.#host, left);
    this.#host.writer.method(channel.number, 'channel.close-ok', {});
    this.#host.flushSoon();
  }

  /** Lets a command that takes its time end, then goes on with those behind it. */
  #wait(open: OpenChannel, running: Promise<void>, name: MethodName): void {
    open.queue.busy = true;
    this.#slow.add(open.queue);
    running
      .catch((caught: unknown) => this.#refuse(open, caught, name))
      .then(() => {
        open.queue.busy = false;
        this.#slow.delete(open.queue);
        let next = open.queue.next();
        while (next !== undefined) {
          this.#carryOut(open, next);
          next = open.queue.next();
        }
        this.#host.onWaitingChanged();
        this.#host.endOfTurn();
      })
      .catch((caught: unknown) => this.#host.closeConnection(replyErrorOf(caught), name));
  }

  #refuse(open: OpenChannel, caught: unknown, culprit: MethodName | undefined): void {
    const error = replyErrorOf(caught);
    const { channel, queue } = open;
    if (error.hard) {
      this.#host.closeConnection(error, culprit);
      return;
    }
    if (channel.closed) return;
    this.#forget(channel.number);
    this.#closing.add(channel.number);
    queue.clear();
    const left = channel.end();
    const { classId, methodId } = culprit === undefined ? { classId: 0, methodId: 0 } : shapeOf(culprit);
    this.#host.writer.method(channel.number, 'channel.close', {
      replyCode: error.code,
      replyText: error.replyText,
      failedClassId: classId,
      failedMethodId: methodId,
    });
    this.#host.flushSettlements();
    this.#host.flushSoon();
    deleteUnused(this.#host, left).catch((failed: unknown) =>
      this.#host.closeConnection(replyErrorOf(failed), culprit),
    );
  }

  #forget(number: number): void {
    this.#open.delete(number);
    if (this.#last?.channel.number === number) this.#last = undefined;
  }
}

function nameOf(command: Command): MethodName {
  return command.kind === 'method' ? command.method.name : 'basic.publish';
}
