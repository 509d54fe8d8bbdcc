import type { Clock, Timer } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { BusHandlers, Member } from '../contract.js';
import { Assemblies, Assembly, partLost } from './assembly.js';
import { BUS_LIMITS } from './bus-limits.js';
import type { FrameSender } from './frame-sender.js';
import { FrameKind, type Frame } from './frames.js';

interface Call {
  readonly reply: Assembly;
  readonly done: (reply: Uint8Array) => void;
  readonly failed: (error: BrokerError) => void;
  readonly timer: Timer;
}

export type HandlersOf = (service: string) => BusHandlers | undefined;

/** Requests that this node made, and those of others that it answers. */
export class BusCalls {
  readonly #sender: FrameSender;
  readonly #handlersOf: HandlersOf;
  readonly #clock: Clock;
  readonly #calls = new Map<number, Call>();
  readonly #incoming: Assemblies;

  constructor(sender: FrameSender, handlersOf: HandlersOf, clock: Clock) {
    this.#sender = sender;
    this.#handlersOf = handlersOf;
    this.#clock = clock;
    const { assemblyBytesMax: bytesMax, assemblyTimeoutMs: timeoutMs } = BUS_LIMITS;
    this.#incoming = new Assemblies({ bytesMax, timeoutMs }, clock);
  }

  async request(
    member: Member,
    service: string,
    body: Uint8Array,
    { call, timeoutMs }: { readonly call: number; readonly timeoutMs: number },
  ): Promise<Uint8Array> {
    if (body.byteLength > BUS_LIMITS.bodyBytesMax)
      throw new BrokerError('limit', `a request is at most ${BUS_LIMITS.bodyBytesMax} bytes`);
    if (this.#calls.size >= BUS_LIMITS.callsMax)
      throw new BrokerError('unavailable', 'too many calls wait for an answer');
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#calls.delete(call);
        timer.cancel();
      };
      const failed = (error: BrokerError): void => {
        settle();
        reject(error);
      };
      const timer = this.#clock.after(timeoutMs, () =>
        failed(new BrokerError('unavailable', `member ${member.id} did not answer within ${timeoutMs} ms`)),
      );
      const done = (reply: Uint8Array): void => {
        settle();
        resolve(reply);
      };
      this.#calls.set(call, { reply: new Assembly(), done, failed, timer });
      const head = { kind: FrameKind.request, call, caller: this.#sender.self, service };
      this.#sender.send(member.id, head, body).catch((error: unknown) => failed(BrokerError.from(error)));
    });
  }

  /** A request of this node failed, if it is one. */
  fail(call: number, error: BrokerError): void {
    this.#calls.get(call)?.failed(error);
  }

  failAll(error: BrokerError): void {
    for (const call of [...this.#calls.values()]) call.failed(error);
    this.forgetParts();
  }

  /** Requests that have not come whole never will. */
  forgetParts(): void {
    this.#incoming.clear();
  }

  onReply(frame: Frame): void {
    const call = frame.caller === this.#sender.self ? this.#calls.get(frame.call) : undefined;
    if (call === undefined) return;
    const { reply } = call;
    if (!reply.add(frame)) call.failed(partLost());
    else if (reply.bytes > BUS_LIMITS.bodyBytesMax)
      call.failed(new BrokerError('limit', 'the reply is too large'));
    else if (frame.last) call.done(reply.whole());
  }

  onRequest(frame: Frame): void {
    let body: Uint8Array | undefined;
    try {
      body = this.#incoming.add(keyOf(frame), frame);
    } catch (error) {
      this.#sender.sendFailure(frame, BrokerError.from(error));
      return;
    }
    if (body !== undefined) void this.#answer(frame, body);
  }

  async #answer(frame: Frame, body: Uint8Array): Promise<void> {
    try {
      const reply = await this.#handlersOf(frame.service)?.request?.({ id: frame.sender }, body);
      if (reply === undefined) throw new BrokerError('unavailable', `nobody serves ${frame.service}`);
      if (reply.byteLength > BUS_LIMITS.bodyBytesMax)
        throw new BrokerError('limit', 'the reply is too large');
      if (this.#sender.closed) return;
      const { call, caller, service } = frame;
      await this.#sender.send(frame.sender, { call, caller, service, kind: FrameKind.reply }, reply);
    } catch (error) {
      this.#sender.sendFailure(frame, BrokerError.from(error));
    }
  }
}

export function keyOf(name: { readonly caller: string; readonly call: number }): string {
  return `${name.caller}/${name.call}`;
}
