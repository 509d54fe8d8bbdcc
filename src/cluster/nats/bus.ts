import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Clock, Timer } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Bus, BusHandlers, BusStream, Coordinator, Member } from '../contract.js';
import { Assemblies, Assembly, partLost } from './assembly.js';
import { NatsBusStream } from './bus-stream.js';
import { decodeFailure, decodeFrame, encodeFailure, encodeFrame, FrameKind, type Frame } from './frames.js';

/** Bounds of the bus on one node. */
export const BUS_LIMITS = {
  /** Payload of one NATS message; less when the server takes less. */
  frameBytesMax: 256 << 10,
  /** One request or reply. */
  bodyBytesMax: 128 << 20,
  /** Parts of requests and replies that are not complete. */
  assemblyBytesMax: 256 << 20,
  /** Bytes handed to the client before the server is asked whether it took them. */
  unflushedBytesMax: 4 << 20,
  callsMax: 100_000,
  streamsMax: 10_000,
  openTimeoutMs: 5_000,
  /** How long the parts of a request may take to come. */
  assemblyTimeoutMs: 30_000,
} as const;

const HEAD_BYTES = 1024;
const NOTHING = new Uint8Array(0);
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

interface Call {
  readonly reply: Assembly;
  readonly done: (reply: Uint8Array) => void;
  readonly failed: (error: BrokerError) => void;
  readonly timer: Timer;
}

/** One end of a stream of this node. */
interface Line {
  readonly stream: NatsBusStream;
  readonly peer: string;
  /** The part of its data that comes next. */
  due: number;
  /** While this node waits for the other to agree. */
  opening: { readonly done: () => void; readonly failed: (error: BrokerError) => void } | undefined;
}

/** Names a call in both directions. */
interface CallName {
  readonly call: number;
  readonly caller: string;
  readonly service: string;
}

/** Resolves when other nodes reach this one. */
export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const bus = new NatsBus(options);
  await options.nc.flush();
  return bus;
}

/**
 * Calls between nodes on NATS subjects: every node listens on `{prefix}.bus.{id}.>`. NATS keeps the order between two connections
 * and loses what was under way when one breaks; a call then ends by its timeout, a stream by the break itself.
 */
class NatsBus implements Bus {
  readonly #o: NatsBusOptions;
  readonly #self: Member;
  readonly #frameBytes: number;
  readonly #unwatch: () => void;
  readonly #subscription: Subscription;
  readonly #services = new Map<string, BusHandlers>();
  readonly #calls = new Map<number, Call>();
  readonly #lines = new Map<string, Line>();
  readonly #incoming: Assemblies;
  #lastCall = 0;
  #unflushed = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(options: NatsBusOptions) {
    this.#o = options;
    const { nc, coordinator } = options;
    const { self } = coordinator;
    this.#self = self;
    const { assemblyBytesMax: bytesMax, assemblyTimeoutMs: timeoutMs } = BUS_LIMITS;
    this.#incoming = new Assemblies({ bytesMax, timeoutMs }, options.clock);
    this.#frameBytes = Math.min(BUS_LIMITS.frameBytesMax, (nc.info?.max_payload ?? 1 << 20) - HEAD_BYTES);
    this.#subscription = nc.subscribe(`${this.#subjectOf(self.id)}.>`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
      },
    });
    this.#unwatch = coordinator.watchMembers((members) => this.#seeMembers(members));
    void this.#followConnection();
  }

  async request(member: Member, service: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    this.#checkOpen();
    if (body.byteLength > BUS_LIMITS.bodyBytesMax)
      throw new BrokerError('limit', `a request is at most ${BUS_LIMITS.bodyBytesMax} bytes`);
    if (this.#calls.size >= BUS_LIMITS.callsMax)
      throw new BrokerError('unavailable', 'too many calls wait for an answer');
    const call = this.#nextCall();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#calls.delete(call);
        timer.cancel();
      };
      const failed = (error: BrokerError): void => {
        settle();
        reject(error);
      };
      const timer = this.#o.clock.after(timeoutMs, () =>
        failed(new BrokerError('unavailable', `member ${member.id} did not answer within ${timeoutMs} ms`)),
      );
      const done = (reply: Uint8Array): void => {
        settle();
        resolve(reply);
      };
      this.#calls.set(call, { reply: new Assembly(), done, failed, timer });
      this.#send(member.id, { kind: FrameKind.request, call, caller: this.#self.id, service }, body).catch(
        (error: unknown) => failed(BrokerError.from(error)),
      );
    });
  }

  async open(member: Member, service: string): Promise<BusStream> {
    this.#checkOpen();
    const name = { call: this.#nextCall(), caller: this.#self.id, service };
    const line = this.#makeLine(member.id, name);
    return new Promise((resolve, reject) => {
      const timer = this.#o.clock.after(BUS_LIMITS.openTimeoutMs, () =>
        line.stream.fail(new BrokerError('unavailable', `member ${member.id} did not open a stream in time`)),
      );
      line.opening = {
        done: () => {
          timer.cancel();
          resolve(line.stream);
        },
        failed: (error) => {
          timer.cancel();
          reject(error);
        },
      };
      this.#send(member.id, { ...name, kind: FrameKind.open }, NOTHING).catch((error: unknown) =>
        line.stream.fail(BrokerError.from(error)),
      );
    });
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
    if (this.#closed) return;
    // The other ends of streams hear it; whoever waits for an answer from here runs into its timeout or into silence.
    for (const line of this.#lines.values()) line.stream.end();
    this.#closed = true;
    this.#unwatch();
    this.#breakAll(new BrokerError('draining', 'the bus is closed'));
    this.#services.clear();
    this.#subscription.unsubscribe();
    await Promise.resolve();
  }

  #checkOpen(): void {
    if (this.#closed) throw new BrokerError('draining', 'the bus is closed');
  }

  #nextCall(): number {
    this.#lastCall = (this.#lastCall + 1) >>> 0;
    return this.#lastCall;
  }

  #subjectOf(id: string): string {
    return `${this.#o.prefix}.bus.${id}`;
  }

  /** What was under way when the connection broke may be gone, so nothing that needs all of it goes on. */
  async #followConnection(): Promise<void> {
    for await (const status of this.#o.nc.status()) {
      if (status.type !== 'disconnect' || this.#closed) continue;
      const lost = new BrokerError('unavailable', 'the connection to NATS broke');
      for (const line of [...this.#lines.values()]) line.stream.fail(lost);
      this.#incoming.clear();
    }
  }

  #seeMembers(members: readonly Member[]): void {
    for (const line of [...this.#lines.values()]) {
      if (members.some(({ id }) => id === line.peer)) continue;
      line.stream.fail(new BrokerError('unavailable', `member ${line.peer} is gone`));
    }
  }

  #breakAll(error: BrokerError): void {
    for (const call of [...this.#calls.values()]) call.failed(error);
    for (const line of [...this.#lines.values()]) line.stream.fail(error);
    this.#incoming.clear();
  }

  #makeLine(peer: string, name: CallName): Line {
    if (this.#lines.size >= BUS_LIMITS.streamsMax)
      throw new BrokerError('unavailable', 'too many streams are open');
    const key = keyOf(name);
    const say = (kind: FrameKind, payload: Uint8Array): void => {
      if (!this.#closed)
        this.#send(peer, { ...name, kind }, payload).catch((error: unknown) =>
          stream.fail(BrokerError.from(error)),
        );
    };
    let sent = 0;
    // One chunk after the other: their parts must not mix.
    let sending = Promise.resolve();
    const stream = new NatsBusStream({
      data: (chunk) =>
        (sending = sending.then(async () => {
          sent = await this.#send(peer, { ...name, kind: FrameKind.data }, chunk, sent);
        })),
      credit: (bytes) => {
        const payload = Buffer.alloc(4);
        payload.writeUInt32LE(bytes);
        say(FrameKind.credit, payload);
      },
      end: () => say(FrameKind.end, NOTHING),
      closed: (error) => {
        this.#lines.delete(key);
        if (error === undefined) return;
        line.opening?.failed(error);
        line.opening = undefined;
        say(FrameKind.fail, encodeFailure(error));
      },
    });
    const line: Line = { stream, peer, due: 0, opening: undefined };
    this.#lines.set(key, line);
    return line;
  }

  /**
   * Sends `body` in as many frames as it takes, the first of them part `part`; resolves when the client may be given more, with the
   * part that comes next.
   */
  async #send(
    to: string,
    head: CallName & { readonly kind: FrameKind },
    body: Uint8Array,
    part = 0,
  ): Promise<number> {
    const { nc } = this.#o;
    const self = this.#self;
    const subject = `${this.#subjectOf(to)}.${head.call}`;
    const reply = `${this.#subjectOf(self.id)}.${head.call}`;
    for (let at = 0, next = part; ; at += this.#frameBytes) {
      const payload = body.subarray(at, at + this.#frameBytes);
      const last = at + this.#frameBytes >= body.byteLength;
      const bytes = encodeFrame({ ...head, part: next++, last, sender: self.id, payload });
      // Only a call's first frame asks to be told when nobody listens: one answer is enough.
      const asks = at === 0 && (head.kind === FrameKind.request || head.kind === FrameKind.open);
      try {
        nc.publish(subject, bytes, asks ? { reply } : {});
      } catch (error) {
        throw new BrokerError('unavailable', 'the connection to NATS is closed', { cause: error });
      }
      this.#unflushed += bytes.length;
      if (this.#unflushed >= BUS_LIMITS.unflushedBytesMax) await this.#flush();
      if (last) return next;
    }
  }

  /** Waits until the server has taken what was published. */
  #flush(): Promise<void> {
    const { nc } = this.#o;
    this.#flushing ??= nc
      .flush()
      .catch((error: unknown) => {
        throw new BrokerError('unavailable', 'the connection to NATS broke', { cause: error });
      })
      .finally(() => {
        this.#unflushed = 0;
        this.#flushing = undefined;
      });
    return this.#flushing;
  }

  #receive(message: Msg): void {
    if (this.#closed) return;
    if (message.headers?.code === NO_RESPONDERS) {
      this.#nobodyThere(Number(message.subject.slice(message.subject.lastIndexOf('.') + 1)));
      return;
    }
    const frame = decodeFrame(message.data);
    if (frame === undefined) {
      this.#o.log.warn('a message on the bus cannot be read', { subject: message.subject });
      return;
    }
    switch (frame.kind) {
      case FrameKind.request:
        this.#onRequest(frame);
        return;
      case FrameKind.open:
        this.#onOpen(frame);
        return;
      case FrameKind.reply:
        this.#onReply(frame);
        return;
      default:
        this.#onLine(frame);
    }
  }

  #nobodyThere(call: number): void {
    const error = new BrokerError('unavailable', 'the member is not there');
    this.#calls.get(call)?.failed(error);
    this.#lines.get(keyOf({ caller: this.#self.id, call }))?.stream.fail(error);
  }

  #onReply(frame: Frame): void {
    const call = frame.caller === this.#self.id ? this.#calls.get(frame.call) : undefined;
    if (call === undefined) return;
    const { reply } = call;
    if (!reply.add(frame)) call.failed(partLost());
    else if (reply.bytes > BUS_LIMITS.bodyBytesMax)
      call.failed(new BrokerError('limit', 'the reply is too large'));
    else if (frame.last) call.done(reply.whole());
  }

  #onLine(frame: Frame): void {
    if (frame.kind === FrameKind.fail && frame.caller === this.#self.id) {
      this.#calls.get(frame.call)?.failed(decodeFailure(frame.payload));
    }
    const line = this.#lines.get(keyOf(frame));
    if (line?.peer !== frame.sender) return;
    switch (frame.kind) {
      case FrameKind.opened:
        line.opening?.done();
        line.opening = undefined;
        return;
      case FrameKind.data:
        if (frame.part === line.due++) line.stream.arrived(frame.payload, frame.last);
        else line.stream.fail(partLost());
        return;
      case FrameKind.credit:
        line.stream.credited(Buffer.from(frame.payload).readUInt32LE(0));
        return;
      case FrameKind.end:
        line.stream.peerEnded();
        return;
      case FrameKind.fail:
        line.stream.fail(decodeFailure(frame.payload));
        return;
      default:
    }
  }

  #onRequest(frame: Frame): void {
    let body: Uint8Array | undefined;
    try {
      body = this.#incoming.add(keyOf(frame), frame);
    } catch (error) {
      this.#answerFailure(frame, BrokerError.from(error));
      return;
    }
    if (body !== undefined) void this.#answer(frame, body);
  }

  async #answer(frame: Frame, body: Uint8Array): Promise<void> {
    try {
      const reply = await this.#services.get(frame.service)?.request?.({ id: frame.sender }, body);
      if (reply === undefined) throw new BrokerError('unavailable', `nobody serves ${frame.service}`);
      if (reply.byteLength > BUS_LIMITS.bodyBytesMax)
        throw new BrokerError('limit', 'the reply is too large');
      if (this.#closed) return;
      const { call, caller, service } = frame;
      await this.#send(frame.sender, { call, caller, service, kind: FrameKind.reply }, reply);
    } catch (error) {
      this.#answerFailure(frame, BrokerError.from(error));
    }
  }

  #answerFailure(frame: Frame, error: BrokerError): void {
    if (this.#closed) return;
    const { call, caller, service } = frame;
    // Unheard, it becomes the caller's timeout.
    this.#send(frame.sender, { call, caller, service, kind: FrameKind.fail }, encodeFailure(error)).catch(
      () => undefined,
    );
  }

  #onOpen(frame: Frame): void {
    const handlers = this.#services.get(frame.service);
    if (handlers?.stream === undefined) {
      this.#answerFailure(frame, new BrokerError('unavailable', `nobody serves ${frame.service}`));
      return;
    }
    const { call, caller, service } = frame;
    let line: Line;
    try {
      line = this.#makeLine(frame.sender, { call, caller, service });
    } catch (error) {
      this.#answerFailure(frame, BrokerError.from(error));
      return;
    }
    this.#send(frame.sender, { call, caller, service, kind: FrameKind.opened }, NOTHING).catch(
      (error: unknown) => line.stream.fail(BrokerError.from(error)),
    );
    handlers.stream({ id: frame.sender }, line.stream).then(
      () => line.stream.end(),
      (error: unknown) => line.stream.fail(BrokerError.from(error)),
    );
  }
}

function keyOf(name: { readonly caller: string; readonly call: number }): string {
  return `${name.caller}/${name.call}`;
}
