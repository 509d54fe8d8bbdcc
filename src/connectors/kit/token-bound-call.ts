import type { UnaryCall } from './grpc-call.js';
import type { GrpcStatus } from './grpc-status.js';
import type { CallMetadata } from './grpc/handlers.js';

/**
 * A call that waits for its one answer no longer than its token is good. It waits when its handler asks to hear `cancelled`:
 * calls that are answered at once are watched by nobody.
 */
export class TokenBoundCall implements UnaryCall<unknown, unknown> {
  readonly #call: UnaryCall<unknown, unknown>;
  readonly #watch: (over: (refusal: GrpcStatus) => void) => () => void;
  #listeners: readonly (() => void)[] = [];
  #forget: (() => void) | undefined;
  #isAnswered = false;

  /** `watch` calls `over` when the token ends, and gives the way to forget it. */
  constructor(call: UnaryCall<unknown, unknown>, watch: (over: (refusal: GrpcStatus) => void) => () => void) {
    this.#call = call;
    this.#watch = watch;
  }

  get request(): unknown {
    return this.#call.request;
  }

  get metadata(): CallMetadata {
    return this.#call.metadata;
  }

  on(event: 'cancelled', listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
    this.#call.on(event, listener);
    if (this.#forget !== undefined || this.#isAnswered) return;
    this.#forget = this.#watch((refusal) => this.#cut(refusal));
    // A client that is gone needs no token.
    this.#call.on('cancelled', this.#forget);
  }

  off(event: 'cancelled', listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
    this.#call.off(event, listener);
  }

  reply(response: unknown): void {
    if (this.#answered()) this.#call.reply(response);
  }

  fail(status: GrpcStatus): void {
    if (this.#answered()) this.#call.fail(status);
  }

  /** The handler gives up what it waits for; what it still says is nobody's. */
  #cut(refusal: GrpcStatus): void {
    if (!this.#answered()) return;
    for (const listener of this.#listeners) listener();
    this.#call.fail(refusal);
  }

  /** True the first time. */
  #answered(): boolean {
    if (this.#isAnswered) return false;
    this.#isAnswered = true;
    this.#forget?.();
    return true;
  }
}
