import { randomUUID } from 'node:crypto';
import type { ClientDuplexStream, ClientReadableStream } from '@grpc/grpc-js';
import {
  type ReceivedEvent,
  type DownstreamRequest,
  type DownstreamResponse,
  Downstream,
} from './native-shapes.js';

/** How a stream ended: status code and text. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
}

/** A bidi stream: requests by id with their answers, and what came without being asked. */
export class Stream<Request extends object, Response extends object> {
  readonly unsolicited: Response[] = [];
  readonly ended: Promise<StreamEnd>;
  readonly #call: ClientDuplexStream<Request, Response>;
  readonly #waiting = new Map<string, (response: Response) => void>();
  #arrived: (() => void) | undefined;

  constructor(call: ClientDuplexStream<Request, Response>, refField: keyof Response & string) {
    this.#call = call;
    this.ended = new Promise((resolve) => {
      call.on('status', (status) => resolve({ code: status.code, details: status.details }));
    });
    call.on('error', () => undefined);
    call.on('data', (response: Response) => {
      const id = String(response[refField]);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (waiting !== undefined) waiting(response);
      else {
        this.unsolicited.push(response);
        this.#arrived?.();
      }
    });
  }

  write(request: Request): void {
    this.#call.write(request);
  }

  /** Writes a request under a fresh id and resolves with its answer; rejects when the stream ends without one. */
  request(request: Request, idField = 'RequestID'): Promise<Response> {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      void this.ended.then((end) => reject(new Error(`stream ended: ${String(end.code)} ${end.details}`)));
      this.#call.write({ ...request, [idField]: id });
    });
  }

  /** The next answer nobody asked for. */
  async next(): Promise<Response> {
    while (this.unsolicited.length === 0) {
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
    return this.unsolicited.shift()!;
  }

  end(): void {
    this.#call.end();
  }

  cancel(): void {
    this.#call.cancel();
  }
}

export class DownstreamStream extends Stream<DownstreamRequest, DownstreamResponse> {
  readonly #clientId: string;

  constructor(call: ClientDuplexStream<DownstreamRequest, DownstreamResponse>, clientId: string) {
    super(call, 'RefRequestId');
    this.#clientId = clientId;
  }

  get(channel: string, options: Partial<DownstreamRequest> = {}): Promise<DownstreamResponse> {
    return this.request({
      RequestTypeData: Downstream.get,
      ClientID: this.#clientId,
      Channel: channel,
      MaxItems: 10,
      WaitTimeout: 1000,
      ...options,
    });
  }

  /** Settles and waits for the confirmation, which is asked for. */
  settle(
    type: number,
    transaction: string,
    options: Partial<DownstreamRequest> = {},
  ): Promise<DownstreamResponse> {
    return this.request({
      RequestTypeData: type,
      RefTransactionId: transaction,
      Metadata: { 'polymq.confirm': 'true' },
      ...options,
    });
  }
}

/** A stream of events, or of requests. */
export class Subscription<T = ReceivedEvent> {
  readonly events: T[] = [];
  readonly ended: Promise<StreamEnd>;
  readonly #call: ClientReadableStream<T>;
  readonly #waiting = new Set<() => void>();

  constructor(call: ClientReadableStream<T>) {
    this.#call = call;
    this.ended = new Promise((resolve) => {
      call.on('status', (status) => resolve({ code: status.code, details: status.details }));
    });
    call.on('error', () => undefined);
    call.on('data', (event: T) => {
      this.events.push(event);
      for (const wake of this.#waiting) wake();
    });
  }

  /** Resolves when `count` events have come in all. */
  async has(count: number): Promise<readonly T[]> {
    while (this.events.length < count) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
    return this.events;
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  cancel(): void {
    this.#call.cancel();
  }
}
