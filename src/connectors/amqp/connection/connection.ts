import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Log } from '../../../base/log.js';
import type { Broker } from '../../../core/broker-api.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import type { PeerConnection } from '../../kit/tcp-listener.js';
import type { Consumer } from '../channel/consumer.js';
import type { ClientCapabilities, SettleHow } from '../channel/host.js';
import type { AmqpConfig } from '../config.js';
import { AMQP_LIMITS } from '../config.js';
import { replyErrorOf } from '../errors.js';
import type { Topology } from '../topology/topology.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { CommandSink, PublishMethod } from '../wire/command-reader.js';
import { CommandReader } from '../wire/command-reader.js';
import { FrameParser } from '../wire/frame-parser.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import { HEARTBEAT_FRAME, PROTOCOL_HEADER } from '../wire/frames.js';
import type { Method, MethodName } from '../wire/methods.js';
import { shapeOf } from '../wire/methods.js';
import { ReplyError } from '../wire/reply.js';
import type { ChannelsHost } from './channels.js';
import { Channels } from './channels.js';
import { Handshake } from './handshake.js';
import type { Session } from './handshake.js';
import type { HeartbeatLine } from './heartbeat.js';
import { Heartbeat } from './heartbeat.js';
import { Outbound } from './outbound.js';
import { ProtocolHeader } from './protocol-header.js';
import type { PublisherHost } from './publisher.js';
import { Publisher } from './publisher.js';
import { Settlements } from './settlements.js';

/** What all connections share. */
export interface ConnectionContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly config: AmqpConfig;
  readonly version: string;
  readonly topology: Topology;
  /** Counters of the connector; connections add to them when they end. */
  readonly counters: AmqpCounters;
  /** Work that goes on after a socket has closed. */
  readonly supervise: (work: Promise<void>) => void;
}

/** Figures of the connector, since it started. */
export interface AmqpCounters {
  published_messages_total: number;
  returned_messages_total: number;
  settled_deliveries_total: number;
  refused_commands_total: number;
}

/** header → handshake → running → closing (we sent connection.close) → closed. */
type Phase = 'header' | 'handshake' | 'running' | 'closing' | 'closed';

/** One client: its socket, the frames on it, and its channels. */
export class AmqpConnection
  implements PeerConnection, CommandSink, ChannelsHost, PublisherHost, HeartbeatLine
{
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly config: AmqpConfig;
  readonly topology: Topology;
  readonly connectionId: number;
  readonly exclusiveQueues = new Set<Queue>();
  readonly #context: ConnectionContext;
  readonly #socket: Socket;
  readonly #out: Outbound;
  readonly #parser: FrameParser;
  readonly #handshake: Handshake;
  readonly #settlements: Settlements;
  #session: Session | undefined;
  #publisher: Publisher | undefined;
  #channels: Channels | undefined;
  #phase: Phase = 'header';
  readonly #header = new ProtocolHeader();
  #timer: Timer | undefined;
  #heartbeat: Heartbeat | undefined;
  #blockedReason: string | undefined;
  #reading = true;
  #draining = false;
  /** What the peer sends is thrown away: it cannot be understood. */
  #deaf = false;
  #ended: Promise<void> | undefined;
  frameMax = 4096;

  constructor(context: ConnectionContext, socket: Socket, connectionId: number) {
    this.#context = context;
    this.#socket = socket;
    this.#out = new Outbound(socket);
    this.connectionId = connectionId;
    this.broker = context.broker;
    this.clock = context.clock;
    this.ids = context.ids;
    this.config = context.config;
    this.topology = context.topology;
    this.#parser = new FrameParser(new CommandReader(this, context.config.maxMessageSize));
    this.#settlements = new Settlements(context.broker, (caught) => this.onFailure(caught));
    this.#handshake = new Handshake({
      config: context.config,
      version: context.version,
      topology: context.topology,
      writer: this.writer,
      onTuned: (frameMax, heartbeatSeconds) => this.#onTuned(frameMax, heartbeatSeconds),
    });
    this.#timer = context.clock.after(AMQP_LIMITS.handshakeTimeoutMs, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    // The close event follows; a peer that resets its connection is everyday life.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#onSocketClosed());
  }

  // What channels and the publisher see of their connection --------------------------------------------------

  get writer(): FrameWriter {
    return this.#out.writer;
  }

  get vhost(): Vhost {
    return this.#running.vhost;
  }

  get user(): string {
    return this.#running.user;
  }

  get capabilities(): ClientCapabilities {
    return this.#running.capabilities;
  }

  get channelMax(): number {
    return this.#running.channelMax;
  }

  get publisher(): Publisher {
    if (this.#publisher === undefined) throw new ReplyError(504, 'the connection is not open');
    return this.#publisher;
  }

  get #running(): Session {
    if (this.#session === undefined) throw new ReplyError(504, 'the connection is not open');
    return this.#session;
  }

  settle(token: LeaseToken, how: SettleHow): void {
    this.#settlements.add(token, how);
  }

  flushSettlements(): void {
    this.#settlements.flush();
  }

  creditDue(consumer: Consumer): void {
    this.#out.creditDue(consumer);
  }

  flushSoon(): void {
    this.#out.flushSoon();
  }

  endOfTurn(): void {
    this.#publisher?.flush();
    this.#settlements.flush();
    this.flushSoon();
  }

  onWaitingChanged(): void {
    this.#updateReading();
  }

  onProgress(): void {
    if (!this.#reading) this.#updateReading();
  }

  onBlocked(reason: string): void {
    this.#blockedReason = reason;
    if (this.#phase === 'running' && this.capabilities.connectionBlocked) {
      this.writer.method(0, 'connection.blocked', { reason: shortReason(reason) });
      this.flushSoon();
    }
    this.#updateReading();
  }

  onUnblocked(): void {
    this.#blockedReason = undefined;
    if (this.#phase === 'running' && this.capabilities.connectionBlocked) {
      this.writer.method(0, 'connection.unblocked', {});
      this.flushSoon();
    }
    this.#updateReading();
  }

  onFailure(caught: unknown): void {
    const error = replyErrorOf(caught);
    this.#context.log.error('amqp: the broker failed', { error: error.cause ?? error });
  }

  // Heartbeats -----------------------------------------------------------------------------------------------

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  get paused(): boolean {
    return !this.#reading;
  }

  sendHeartbeat(): void {
    this.writer.raw(HEARTBEAT_FRAME);
    this.#out.flush();
  }

  onDeadPeer(): void {
    this.#context.log.warn('amqp: missed heartbeats', { connection: this.connectionId });
    this.#socket.destroy();
  }

  // Life -----------------------------------------------------------------------------------------------------

  drain(): void {
    if (this.#phase !== 'running') {
      this.#socket.destroy();
      return;
    }
    this.#draining = true;
    this.endOfTurn();
    const done = this.#channels?.publishesDone() ?? Promise.resolve();
    this.#context.supervise(
      done.then(() => this.closeConnection(new ReplyError(320, 'broker is shutting down'), undefined)),
    );
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Tells the peer why, ends its channels, and cuts the socket when close-ok does not come. */
  closeConnection(error: ReplyError, culprit: MethodName | undefined): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    this.#context.counters.refused_commands_total++;
    const shape = error.culprit ?? (culprit === undefined ? { classId: 0, methodId: 0 } : shapeOf(culprit));
    this.#phase = 'closing';
    // Publishes that were read before the fault stay published.
    this.#publisher?.flush();
    this.writer.method(0, 'connection.close', {
      replyCode: error.code,
      replyText: error.replyText,
      failedClassId: shape.classId,
      failedMethodId: shape.methodId,
    });
    this.#context.supervise(this.#end());
    this.flushSoon();
    this.#timer?.cancel();
    this.#timer = this.clock.after(AMQP_LIMITS.closeTimeoutMs, () => this.#socket.destroy());
    this.#reading = true;
    this.#socket.resume();
  }

  // Reading --------------------------------------------------------------------------------------------------

  #onData(chunk: Buffer): void {
    try {
      const rest = this.#phase === 'header' ? this.#onHeaderBytes(chunk) : chunk;
      if (rest !== undefined && rest.length > 0 && !this.#deaf) this.#parser.push(rest);
    } catch (caught) {
      // A fault of the frames themselves: where the next one begins cannot be known any more.
      this.#deaf = true;
      this.#onFault(caught, undefined);
    }
    this.endOfTurn();
    if (this.#phase === 'running') this.#updateReading();
  }

  /** A fault that no channel took: the connection ends. */
  #onFault(caught: unknown, culprit: MethodName | undefined): void {
    if (this.#phase === 'closing') return;
    const error = replyErrorOf(caught);
    if (error.code === 541) this.onFailure(caught);
    const login = error.code === 403 && this.#phase === 'handshake';
    if (login && !this.#handshake.capabilities.authenticationFailureClose) {
      // Old clients do not expect an answer here: they are kept waiting, and then cut off.
      this.#phase = 'closing';
      this.#timer?.cancel();
      this.#timer = this.clock.after(AMQP_LIMITS.loginPenaltyMs, () => this.#socket.destroy());
      return;
    }
    this.closeConnection(error, culprit);
  }

  /** Waits for the protocol header; returns what follows it. */
  #onHeaderBytes(chunk: Buffer): Buffer | undefined {
    const rest = this.#header.take(chunk);
    if (rest === undefined) return undefined;
    if (rest === 'refused') {
      this.#phase = 'closed';
      this.#deaf = true;
      this.#socket.end(PROTOCOL_HEADER);
      return undefined;
    }
    this.#phase = 'handshake';
    this.#handshake.begin();
    return rest;
  }

  onMethod(channel: number, method: Method): void {
    try {
      this.#takeMethod(channel, method);
    } catch (caught) {
      this.#onFault(caught, method.name);
    }
  }

  #takeMethod(channel: number, method: Method): void {
    if (this.#phase === 'closing') {
      this.#onMethodWhileClosing(channel, method);
    } else if (channel === 0) {
      this.#onConnectionMethod(method);
    } else if (method.name.startsWith('connection.')) {
      throw new ReplyError(503, 'unimplemented method');
    } else {
      this.#runningChannels().onMethod(channel, method);
    }
  }

  onPublish(channel: number, publish: PublishMethod, properties: Buffer, body: Buffer): void {
    if (this.#phase === 'closing' || this.#draining) return;
    try {
      this.#runningChannels().onPublish(channel, publish, properties, body);
    } catch (caught) {
      this.#onFault(caught, 'basic.publish');
    }
  }

  onOversize(channel: number, publish: PublishMethod, size: number): void {
    if (this.#phase === 'closing' || this.#draining) return;
    try {
      this.#runningChannels().onOversize(channel, publish, size);
    } catch (caught) {
      this.#onFault(caught, 'basic.publish');
    }
  }

  onFault(caught: unknown): void {
    this.#onFault(caught, undefined);
  }

  #runningChannels(): Channels {
    if (this.#channels === undefined || this.#phase !== 'running') {
      throw new ReplyError(504, 'unexpected method before connection.open');
    }
    return this.#channels;
  }

  #onConnectionMethod(method: Method): void {
    if (method.name === 'connection.close') {
      this.#context.supervise(this.#onClose());
    } else if (this.#phase === 'handshake') {
      const session = this.#handshake.step(method);
      if (session !== undefined) this.#onOpened(session);
    } else if (method.name === 'connection.update-secret') {
      this.writer.method(0, 'connection.update-secret-ok', {});
    } else if (method.name.startsWith('connection.')) {
      throw new ReplyError(method.name.endsWith('-ok') ? 504 : 503, `unexpected method ${method.name}`);
    } else {
      throw new ReplyError(504, 'unexpected method in connection state running');
    }
  }

  #onMethodWhileClosing(channel: number, method: Method): void {
    if (channel !== 0) return;
    if (method.name === 'connection.close-ok') {
      this.#socket.end();
    } else if (method.name === 'connection.close') {
      this.writer.method(0, 'connection.close-ok', {});
      this.flushSoon();
    }
  }

  #onTuned(frameMax: number, heartbeatSeconds: number): void {
    this.frameMax = frameMax;
    this.#parser.setFrameMax(frameMax);
    this.writer.setFrameMax(frameMax);
    this.#heartbeat = new Heartbeat(this.clock, this, heartbeatSeconds);
  }

  #onOpened(session: Session): void {
    this.#session = session;
    this.#publisher = new Publisher(this);
    this.#channels = new Channels(this);
    this.#phase = 'running';
    this.#timer?.cancel();
  }

  async #onClose(): Promise<void> {
    this.#phase = 'closing';
    this.#timer?.cancel();
    this.#publisher?.flush();
    await this.#end();
    this.writer.method(0, 'connection.close-ok', {});
    this.#out.flush();
    this.#socket.end();
    this.#timer = this.clock.after(AMQP_LIMITS.closeTimeoutMs, () => this.#socket.destroy());
  }

  /** Gives back and deletes what was this connection's. Once. */
  #end(): Promise<void> {
    this.#ended ??= this.#endOnce();
    return this.#ended;
  }

  async #endOnce(): Promise<void> {
    await this.#channels?.endAll();
    const vhost = this.#session?.vhost;
    if (vhost === undefined) return;
    for (const queue of this.exclusiveQueues) await this.topology.deleteQueue(vhost, queue);
  }

  #onSocketClosed(): void {
    this.#phase = 'closed';
    this.#timer?.cancel();
    this.#heartbeat?.stop();
    this.#publisher?.flush();
    this.#publisher?.stop();
    const { counters } = this.#context;
    counters.settled_deliveries_total += this.#settlements.settled;
    counters.published_messages_total += this.#publisher?.published ?? 0;
    counters.returned_messages_total += this.#publisher?.returned ?? 0;
    this.#context.supervise(this.#end());
  }

  #updateReading(): void {
    if (this.#phase !== 'running') return;
    const pendingBytes = this.#publisher?.pendingBytes ?? 0;
    const { maxPendingBytes } = this.config;
    const waiting = this.#channels?.waitingBytes ?? 0;
    const read =
      this.#blockedReason === undefined &&
      pendingBytes <= maxPendingBytes &&
      waiting <= AMQP_LIMITS.waitingCommandBytes;
    if (read === this.#reading) return;
    this.#reading = read;
    if (read) this.#socket.resume();
    else this.#socket.pause();
  }
}

function shortReason(reason: string): string {
  return reason.length <= 200 ? reason : reason.slice(0, 200);
}
