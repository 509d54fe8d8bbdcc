import type { Clock, Timer } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { BusStream, Member } from '../contract.js';
import { partLost } from './assembly.js';
import { keyOf, type HandlersOf } from './bus-calls.js';
import { BUS_LIMITS } from './bus-limits.js';
import { NatsBusStream } from './bus-stream.js';
import type { CallName, FrameSender } from './frame-sender.js';
import { decodeFailure, encodeFailure, FrameKind, type Frame } from './frames.js';

/** One end of a stream of this node. */
interface Line {
  readonly stream: NatsBusStream;
  readonly peer: string;
  /** The part of its data that comes next. */
  due: number;
  /** Bytes of room that the other end said it has. */
  roomHeard: number;
  /** Something went or came since the other end was asked last. */
  moved: boolean;
  /** Asks the other end whether it has all that was said. */
  readonly probe: () => void;
  /** While this node waits for the other to agree. */
  opening: { readonly done: () => void; readonly failed: (error: BrokerError) => void } | undefined;
}

/**
 * The streams of this node, whoever opened them. NATS may lose what is under way when any connection on the way breaks, also one between two
 * servers, which neither node notices: a gap shows with the next part, and the loss of the last one by asking. An end that the other
 * one does not know any more fails, too.
 */
export class BusLines {
  readonly #sender: FrameSender;
  readonly #handlersOf: HandlersOf;
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  #probes: Timer | undefined;
  #probed = 0;

  constructor(sender: FrameSender, handlersOf: HandlersOf, clock: Clock) {
    this.#sender = sender;
    this.#handlersOf = handlersOf;
    this.#clock = clock;
  }

  async open(call: number, member: Member, service: string): Promise<BusStream> {
    const name = { call, caller: this.#sender.self, service };
    const line = this.#make(member.id, name);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(BUS_LIMITS.openTimeoutMs, () =>
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
      this.#sender
        .send(member.id, { ...name, kind: FrameKind.open })
        .catch((error: unknown) => line.stream.fail(BrokerError.from(error)));
    });
  }

  /** A stream that this node opens failed, if it is one. */
  fail(call: number, error: BrokerError): void {
    this.#lines.get(keyOf({ caller: this.#sender.self, call }))?.stream.fail(error);
  }

  failAll(error: BrokerError): void {
    for (const line of [...this.#lines.values()]) line.stream.fail(error);
  }

  /** Asks nobody any more. */
  close(): void {
    this.#probes?.cancel();
    this.#probes = undefined;
  }

  /** The other ends hear it. */
  endAll(): void {
    for (const line of this.#lines.values()) line.stream.end();
  }

  /** Streams with a member that is not among these fail. */
  keepOnly(members: readonly Member[]): void {
    for (const line of [...this.#lines.values()]) {
      if (members.some(({ id }) => id === line.peer)) continue;
      line.stream.fail(new BrokerError('unavailable', `member ${line.peer} is gone`));
    }
  }

  onOpen(frame: Frame): void {
    const handlers = this.#handlersOf(frame.service);
    if (handlers?.stream === undefined) {
      this.#sender.sendFailure(frame, new BrokerError('unavailable', `nobody serves ${frame.service}`));
      return;
    }
    const { call, caller, service } = frame;
    let line: Line;
    try {
      line = this.#make(frame.sender, { call, caller, service });
    } catch (error) {
      this.#sender.sendFailure(frame, BrokerError.from(error));
      return;
    }
    this.#sender
      .send(frame.sender, { call, caller, service, kind: FrameKind.opened })
      .catch((error: unknown) => line.stream.fail(BrokerError.from(error)));
    handlers.stream({ id: frame.sender }, line.stream).then(
      () => line.stream.end(),
      (error: unknown) => line.stream.fail(BrokerError.from(error)),
    );
  }

  onFrame(frame: Frame): void {
    const line = this.#lines.get(keyOf(frame));
    if (line === undefined && frame.kind === FrameKind.probe)
      this.#sender.sendFailure(frame, new BrokerError('unavailable', 'the stream is gone'));
    if (line?.peer !== frame.sender) return;
    switch (frame.kind) {
      case FrameKind.opened:
        line.opening?.done();
        line.opening = undefined;
        return;
      case FrameKind.data:
        line.moved = true;
        if (frame.part === line.due++) line.stream.arrived(frame.payload, frame.last);
        else line.stream.fail(partLost());
        return;
      case FrameKind.credit:
        line.roomHeard += Buffer.from(frame.payload).readUInt32LE(0);
        line.stream.credited(Buffer.from(frame.payload).readUInt32LE(0));
        return;
      case FrameKind.probe:
        if (frame.part !== line.due || Buffer.from(frame.payload).readDoubleLE(0) !== line.roomHeard)
          line.stream.fail(partLost());
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

  #make(peer: string, name: CallName): Line {
    if (this.#lines.size >= BUS_LIMITS.streamsMax)
      throw new BrokerError('unavailable', 'too many streams are open');
    const key = keyOf(name);
    const say = (kind: FrameKind, payload?: Uint8Array): void => {
      if (this.#sender.closed) return;
      this.#sender
        .send(peer, { ...name, kind }, payload)
        .catch((error: unknown) => stream.fail(BrokerError.from(error)));
    };
    let sent = 0;
    let roomSaid = 0;
    // One chunk after the other: their parts must not mix.
    let sending = Promise.resolve();
    const stream = new NatsBusStream({
      data: (chunk) => {
        line.moved = true;
        return (sending = sending.then(async () => {
          sent = await this.#sender.send(peer, { ...name, kind: FrameKind.data }, chunk, sent);
        }));
      },
      credit: (bytes) => {
        roomSaid += bytes;
        const payload = Buffer.alloc(4);
        payload.writeUInt32LE(bytes);
        say(FrameKind.credit, payload);
      },
      end: () => say(FrameKind.end),
      closed: (error) => {
        this.#lines.delete(key);
        if (error === undefined) return;
        line.opening?.failed(error);
        line.opening = undefined;
        say(FrameKind.fail, encodeFailure(error));
      },
    });
    const probe = (): void => {
      // Behind what is on its way out.
      sending = sending.then(async () => {
        if (this.#sender.closed || this.#lines.get(key) !== line) return;
        const payload = Buffer.alloc(8);
        payload.writeDoubleLE(roomSaid);
        await this.#sender.send(peer, { ...name, kind: FrameKind.probe }, payload, sent);
      });
      sending.catch((error: unknown) => stream.fail(BrokerError.from(error)));
    };
    const line: Line = { stream, peer, due: 0, roomHeard: 0, moved: true, probe, opening: undefined };
    this.#lines.set(key, line);
    this.#armProbes();
    return line;
  }

  #armProbes(): void {
    if (this.#probes !== undefined || this.#lines.size === 0 || this.#sender.closed) return;
    this.#probes = this.#clock.after(BUS_LIMITS.probeMs, () => {
      this.#probes = undefined;
      this.#probed += 1;
      const all = this.#probed % BUS_LIMITS.probesAtRest === 0;
      for (const line of this.#lines.values()) {
        // While it is being opened the other end may not be there yet.
        if (line.opening !== undefined || !(line.moved || all)) continue;
        line.moved = false;
        line.probe();
      }
      this.#armProbes();
    });
  }
}
