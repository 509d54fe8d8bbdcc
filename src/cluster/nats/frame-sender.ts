import type { NatsConnection } from '@nats-io/transport-node';
import { BrokerError } from '../../core/errors.js';
import { BUS_LIMITS } from './bus-limits.js';
import { encodeFailure, encodeFrame, FrameKind, type Frame } from './frames.js';

/** Of NATS's own headers and ours, beside a payload. */
const HEAD_BYTES = 1024;
const NOTHING = new Uint8Array(0);

/** Names a call or a stream in both directions. */
export type CallName = Pick<Frame, 'call' | 'caller' | 'service'>;

/** Sends frames of one node: each body in as many as it takes. */
export class FrameSender {
  readonly self: string;
  readonly #nc: NatsConnection;
  readonly #prefix: string;
  readonly #frameBytes: number;
  #unflushed = 0;
  #flushing: Promise<void> | undefined;
  /** Nothing is said any more. */
  closed = false;

  constructor(nc: NatsConnection, self: string, prefix: string) {
    this.#nc = nc;
    this.self = self;
    this.#prefix = prefix;
    this.#frameBytes = Math.min(BUS_LIMITS.frameBytesMax, (nc.info?.max_payload ?? 1 << 20) - HEAD_BYTES);
  }

  subjectOf(id: string): string {
    return `${this.#prefix}.bus.${id}`;
  }

  /**
   * Sends `body`, the first of its frames part `part`; resolves when the client may be given more, with the part that comes next. Rejects
   * with `unavailable` when the connection is gone.
   */
  async send(
    to: string,
    head: CallName & { readonly kind: FrameKind },
    body: Uint8Array = NOTHING,
    part = 0,
  ): Promise<number> {
    const subject = `${this.subjectOf(to)}.${head.call}`;
    const reply = `${this.subjectOf(this.self)}.${head.call}`;
    for (let at = 0, next = part; ; at += this.#frameBytes) {
      const payload = body.subarray(at, at + this.#frameBytes);
      const last = at + this.#frameBytes >= body.byteLength;
      const bytes = encodeFrame({ ...head, part: next++, last, sender: this.self, payload });
      // Only a call's first frame asks to be told when nobody listens: one answer is enough.
      const asks = at === 0 && (head.kind === FrameKind.request || head.kind === FrameKind.open);
      try {
        this.#nc.publish(subject, bytes, asks ? { reply } : {});
      } catch (error) {
        throw new BrokerError('unavailable', 'the connection to NATS is closed', { cause: error });
      }
      this.#unflushed += bytes.length;
      if (this.#unflushed >= BUS_LIMITS.unflushedBytesMax) await this.#flush();
      if (last) return next;
    }
  }

  /** Tells who began a call that it failed. Unheard, it becomes a timeout there. */
  sendFailure({ sender, call, caller, service }: Frame, error: BrokerError): void {
    if (this.closed) return;
    this.send(sender, { call, caller, service, kind: FrameKind.fail }, encodeFailure(error)).catch(
      () => undefined,
    );
  }

  /** Waits until the server has taken what was published. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#nc
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
}
