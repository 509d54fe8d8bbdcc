import type { Socket } from 'node:net';
import type { Timer } from '../../../base/clock.js';
import type { PeerConnection } from '../../kit/tcp-listener.js';
import { isSecure, peerNameOf } from '../../kit/tls-gate.js';
import { AMQP_LIMITS } from '../config.js';
import { isPassing, replyErrorOf } from '../errors.js';
import type { CommandSink, PublishMethod } from '../wire/command-reader.js';
import { CommandReader } from '../wire/command-reader.js';
import { FrameParser } from '../wire/frame-parser.js';
import { HEARTBEAT_FRAME, PROTOCOL_HEADER } from '../wire/frames.js';
import type { Method, MethodName } from '../wire/methods.js';
import { shapeOf } from '../wire/methods.js';
import { ReplyError } from '../wire/reply.js';
import type { Channels } from './channels.js';
import type { ConnectionContext } from './context.js';
import { Handshake } from './handshake.js';
import type { HeartbeatLine } from './heartbeat.js';
import { Heartbeat } from './heartbeat.js';
import type { ConnectionEnds, ConnectionInfo } from './connection-info.js';
import { endsOf } from './connection-info.js';
import type { SessionLine } from './open-session.js';
import { OpenSession } from './open-session.js';
import { LoginLease } from './login-lease.js';
import { Outbound } from './outbound.js';
import type { PeerSocket } from './peer-socket.js';
import { ProtocolHeader } from './protocol-header.js';
import { ReadGate } from './read-gate.js';

/** header → handshake → running → closing (we sent connection.close) → closed. */
type Phase = 'header' | 'handshake' | 'running' | 'closing' | 'closed';

/** One client: its socket, the frames on it, and the phases of its life. What it does once open is its session's. */
export class AmqpConnection implements PeerConnection, CommandSink, SessionLine, HeartbeatLine {
  readonly context: ConnectionContext;
  readonly connectionId: number;
  readonly out: Outbound;
  readonly gate: ReadGate;
  readonly #socket: PeerSocket;
  readonly #secure: boolean;
  readonly #parser: FrameParser;
  readonly #handshake: Handshake;
  readonly #header = new ProtocolHeader();
  #session: OpenSession | undefined;
  #login: LoginLease | undefined;
  #phase: Phase = 'header';
  #timer: Timer | undefined;
  readonly #ends: ConnectionEnds;
  readonly #connectedAt: number;
  #heartbeatSeconds = 0;
  #heartbeat: Heartbeat | undefined;
  #draining = false;
  /** What the peer sends is thrown away: it cannot be understood. */
  #deaf = false;
  frameMax = 4096;

  /** `transport`: what `socket` runs on, when that is something else. */
  constructor(context: ConnectionContext, socket: PeerSocket, connectionId: number, transport: Socket) {
    this.context = context;
    this.connectionId = connectionId;
    this.out = new Outbound(socket);
    this.gate = new ReadGate(socket);
    this.#socket = socket;
    this.#ends = endsOf(transport);
    this.#secure = isSecure(transport);
    this.#connectedAt = context.clock.now();
    this.#parser = new FrameParser(new CommandReader(this, context.config.maxMessageSize));
    this.#handshake = new Handshake({
      config: context.config,
      version: context.version,
      topology: context.topology,
      access: context.access,
      limits: context.limits,
      certificateName: peerNameOf(transport, context.tls),
      writer: this.out.writer,
      onTuned: (frameMax, heartbeatSeconds) => this.#onTuned(frameMax, heartbeatSeconds),
      onLoginEnded: (failure) => {
        if (failure !== undefined) this.onFault(failure);
        this.out.flushSoon();
      },
    });
    this.#timer = context.clock.after(AMQP_LIMITS.handshakeTimeoutMs, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    // The close event follows; a peer that resets its connection is everyday life.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#onSocketClosed());
  }

  get running(): boolean {
    return this.#phase === 'running';
  }

  onFailure(caught: unknown): void {
    const error = replyErrorOf(caught);
    if (!isPassing(error)) {
      this.context.log.error('amqp: the broker failed', { error: error.cause ?? error });
      return;
    }
    // The journal is another node's, or soon will be: a client that comes back finds that one, and what it had not acknowledged.
    if (this.running) this.context.log.info('amqp: a connection ends', { reason: error.replyText });
    this.closeConnection(error, undefined);
  }

  /** What is known of an open connection; undefined before connection.open. */
  info(): ConnectionInfo | undefined {
    const session = this.#session;
    if (session === undefined) return undefined;
    return {
      id: this.connectionId,
      ...this.#ends,
      connectedAt: this.#connectedAt,
      heartbeatSeconds: this.#heartbeatSeconds,
      frameMax: this.frameMax,
      bytesRead: this.bytesRead,
      bytesWritten: this.bytesWritten,
      sendPending: this.out.bufferedBytes,
      blocked: !this.gate.open,
      secure: this.#secure,
      session,
    };
  }

  // Heartbeats -----------------------------------------------------------------------------------------------

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  get paused(): boolean {
    return !this.gate.open;
  }

  sendHeartbeat(): void {
    this.out.writer.raw(HEARTBEAT_FRAME);
    this.out.flush();
  }

  onDeadPeer(): void {
    this.context.log.warn('amqp: missed heartbeats', { connection: this.connectionId });
    this.#socket.destroy();
  }

  // Life -----------------------------------------------------------------------------------------------------

  drain(): void {
    const session = this.#session;
    if (this.#phase !== 'running' || session === undefined) {
      this.#socket.destroy();
      return;
    }
    this.#draining = true;
    session.endOfTurn();
    this.context.supervise(
      session.channels
        .publishesDone()
        .then(() => this.closeConnection(new ReplyError(320, 'broker is shutting down'), undefined)),
    );
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Tells the peer why, ends its channels, and cuts the socket when close-ok does not come. */
  closeConnection(error: ReplyError, culprit: MethodName | undefined): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    this.context.counters.refused_commands_total++;
    const shape = error.culprit ?? (culprit === undefined ? { classId: 0, methodId: 0 } : shapeOf(culprit));
    this.#phase = 'closing';
    // Publishes that were read before the fault stay published.
    this.#session?.publisher.flush();
    this.out.writer.method(0, 'connection.close', {
      replyCode: error.code,
      replyText: error.replyText,
      failedClassId: shape.classId,
      failedMethodId: shape.methodId,
    });
    this.#endSession();
    this.out.flushSoon();
    this.#destroyAfter(AMQP_LIMITS.closeTimeoutMs);
    this.gate.set(true);
  }

  #endSession(): void {
    if (this.#session !== undefined) this.context.supervise(this.#session.end());
  }

  #destroyAfter(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.context.clock.after(delayMs, () => this.#socket.destroy());
  }

  // Reading --------------------------------------------------------------------------------------------------

  #onData(chunk: Buffer): void {
    try {
      const rest = this.#phase === 'header' ? this.#onHeaderBytes(chunk) : chunk;
      if (rest !== undefined && rest.length > 0 && !this.#deaf) this.#parser.push(rest);
    } catch (caught) {
      // A fault of the frames themselves: where the next one begins cannot be known any more.
      this.#deaf = true;
      this.onFault(caught, undefined);
    }
    if (this.#session === undefined) {
      this.out.flushSoon();
    } else {
      this.#session.endOfTurn();
      this.#session.updateReading();
    }
  }

  /** A fault that no channel took: the connection ends. */
  onFault(caught: unknown, culprit?: MethodName): void {
    if (this.#phase === 'closing') return;
    const error = replyErrorOf(caught);
    if (error.code === 541) this.onFailure(caught);
    const login = error.code === 403 && this.#phase === 'handshake';
    if (login && !this.#handshake.capabilities.authenticationFailureClose) {
      // Old clients do not expect an answer here: they are kept waiting, and then cut off.
      this.#phase = 'closing';
      this.#destroyAfter(AMQP_LIMITS.loginPenaltyMs);
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
      this.onFault(caught, method.name);
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
      this.onFault(caught, 'basic.publish');
    }
  }

  onOversize(channel: number, publish: PublishMethod, size: number): void {
    if (this.#phase === 'closing' || this.#draining) return;
    try {
      this.#runningChannels().onOversize(channel, publish, size);
    } catch (caught) {
      this.onFault(caught, 'basic.publish');
    }
  }

  #runningChannels(): Channels {
    if (this.#session === undefined || this.#phase !== 'running') {
      throw new ReplyError(504, 'unexpected method before connection.open');
    }
    return this.#session.channels;
  }

  #onConnectionMethod(method: Method): void {
    if (method.name === 'connection.close') {
      this.context.supervise(this.#onClose());
    } else if (this.#phase === 'handshake') {
      const session = this.#handshake.step(method);
      if (session === undefined) return;
      this.#session = new OpenSession(this, session);
      this.#phase = 'running';
      this.context.connections.set(this.connectionId, this);
      this.#timer?.cancel();
      this.#login = new LoginLease(this.context.access, session.identity, (reason) =>
        this.closeConnection(new ReplyError(320, reason), undefined),
      );
      this.#login.begin(session.secret);
    } else if (method.name === 'connection.update-secret') {
      this.context.supervise(this.#onNewSecret(method.args.newSecret));
    } else {
      throw new ReplyError(504, 'unexpected method in connection state running');
    }
  }

  async #onNewSecret(secret: Uint8Array): Promise<void> {
    const fits = await this.#login?.renew(Buffer.from(secret).toString('utf8'));
    if (this.#phase !== 'running') return;
    if (fits === true) this.out.writer.method(0, 'connection.update-secret-ok', {});
    else {
      const refused = new ReplyError(530, 'New secret was refused by one of the backends');
      this.closeConnection(refused, 'connection.update-secret');
    }
    this.out.flushSoon();
  }

  #onMethodWhileClosing(channel: number, method: Method): void {
    if (channel !== 0) return;
    if (method.name === 'connection.close-ok') {
      this.#socket.end();
    } else if (method.name === 'connection.close') {
      this.out.writer.method(0, 'connection.close-ok', {});
      this.out.flushSoon();
    }
  }

  #onTuned(frameMax: number, heartbeatSeconds: number): void {
    this.frameMax = frameMax;
    this.#parser.setFrameMax(frameMax);
    this.out.writer.setFrameMax(frameMax);
    this.#heartbeatSeconds = heartbeatSeconds;
    this.#heartbeat = new Heartbeat(this.context.clock, this, heartbeatSeconds);
  }

  async #onClose(): Promise<void> {
    this.#phase = 'closing';
    this.#timer?.cancel();
    this.#session?.publisher.flush();
    await this.#session?.end();
    this.out.writer.method(0, 'connection.close-ok', {});
    this.out.flush();
    this.#socket.end();
    this.#destroyAfter(AMQP_LIMITS.closeTimeoutMs);
  }

  #onSocketClosed(): void {
    this.#phase = 'closed';
    this.context.connections.delete(this.connectionId);
    this.#timer?.cancel();
    this.#login?.end();
    this.#heartbeat?.stop();
    this.#session?.onSocketClosed();
    this.#endSession();
  }
}
