import { status } from '../grpc-status.js';
import { Call } from './call.js';
import type { BidiCall, StreamCallEvent } from './handlers.js';
import { Listeners } from './listeners.js';

/** Streams both ways. The handler runs as soon as the call is opened. */
export class BidiServerCall extends Call implements BidiCall<unknown, unknown> {
  readonly #listeners = new Listeners<StreamCallEvent>();
  readonly #dataListeners: ((request: unknown) => void)[] = [];
  #isPaused = false;
  /** What came while the handler did not want it; its room in the windows is given back when it is taken. */
  #waiting: Buffer[] = [];
  #waitingFlowBytes = 0;
  #isHalfClosed = false;
  #isDelivering = false;

  /** Runs the handler. */
  open(): void {
    this.run();
  }

  on(event: StreamCallEvent | 'data', listener: ((request: unknown) => void) | (() => void)): void {
    if (event === 'data') this.#dataListeners.push(listener);
    else this.#listeners.add(event, listener as () => void);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    queueMicrotask(() => this.#deliver());
  }

  write(message: unknown, accepted?: () => void): boolean {
    return !this.isEnded && this.send(message, accepted);
  }

  end(): void {
    this.finish();
  }

  message(bytes: Buffer): void {
    this.#waiting.push(bytes);
  }

  onData(piece: Buffer, flowBytes: number): void {
    if (this.isEnded) {
      this.stream.consumed(flowBytes);
      return;
    }
    this.#waitingFlowBytes += flowBytes;
    this.read(piece);
    this.#deliver();
  }

  onEnd(): void {
    if (this.isEnded) return;
    if (this.reader.isInside) {
      this.fail({ code: status.INTERNAL, details: 'The stream ended inside a message' });
      return;
    }
    this.#isHalfClosed = true;
    this.#deliver();
  }

  onRoom(): void {
    this.#listeners.emit('drain');
  }

  protected cancelled(): void {
    this.#listeners.emit('cancelled');
  }

  protected closed(): void {
    this.#waiting = [];
    this.#listeners.emit('close');
  }

  /** Hands out what came, until the handler wants no more. */
  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      this.#handOut();
    } catch (caught) {
      this.failWith(caught);
    } finally {
      this.#isDelivering = false;
    }
  }

  #handOut(): void {
    const waiting = this.#waiting;
    let taken = 0;
    for (; taken < waiting.length && !this.#isPaused && !this.isEnded; taken++) {
      const bytes = waiting[taken];
      if (bytes === undefined) continue;
      const request = this.decode(bytes);
      for (const listener of this.#dataListeners) listener(request);
    }
    if (taken > 0) this.#waiting = waiting.slice(taken);
    if (this.#isPaused && !this.isEnded) return;
    const { stream } = this;
    stream.consumed(this.#waitingFlowBytes);
    this.#waitingFlowBytes = 0;
    if (!this.#isHalfClosed || this.isEnded) return;
    this.#isHalfClosed = false;
    this.#listeners.emit('end');
  }
}
