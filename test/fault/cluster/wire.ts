import type { Order, Taken } from './history.js';

/** An answer that clients of the protocol do not try again after. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** One connection that sends. */
export interface Sender {
  /** Resolves when the broker has confirmed it. */
  send(sequence: number, group: number): Promise<void>;
  close(): void;
}

/** One connection that consumes. */
export interface Consumer {
  /** Some messages; none when there were none for a second. */
  take(): Promise<readonly Taken[]>;
  /** Acknowledges what `take` gave; resolves with the numbers that the broker has taken out, as far as the protocol tells. */
  ack(taken: readonly Taken[]): Promise<readonly number[]>;
  /**
   * A durable send to a queue aside on the same connection. One owner has one log: when it is confirmed, what was acknowledged on this
   * connection before is in the log too.
   */
  seal(): Promise<void>;
  close(): void;
}

/** One protocol as the exercise needs it. */
export interface Wire {
  readonly name: string;
  readonly order: Order;
  /** For so long the broker recognizes a send that is tried again: it stays the same message. 0 = never. */
  readonly deduplicatesMs: number;
  /** After so long a message that was taken may be handed out again. */
  readonly leaseMs: number;
  /** The queue by its channel's name. */
  readonly channel: string;
  setUp(host: string): Promise<void>;
  sender(host: string): Promise<Sender>;
  consumer(host: string): Promise<Consumer>;
}

/** No answer in time: the connection is given up, as an application would. */
export function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Messages that were pushed and not taken yet. */
export class Pushed<T> {
  #items: T[] = [];
  #failure: Error | undefined;
  #wake = (): void => undefined;

  add(items: readonly T[]): void {
    this.#items.push(...items);
    this.#wake();
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
    this.#wake();
  }

  /** All there are, at most `max`, waiting `ms` for the first. */
  async take(max: number, ms: number): Promise<readonly T[]> {
    if (this.#items.length === 0 && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return this.#items.splice(0, max);
  }
}

const GRPC_RETRYABLE = /status (8|14)\b/;

/** What a failed gRPC call is to a client. */
export function grpcFailure(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  return !/status \d+/.test(text) || GRPC_RETRYABLE.test(text) ? new Error(text) : new WrongAnswer(text);
}
