import type { GrpcStatus } from '../grpc-status.js';

/** The request's header fields, and who sends it. */
export interface CallMetadata {
  /** The name in the connection's client certificate, when one was checked. */
  readonly peerName?: string | undefined;
  /** The first value of a field, by its name in lower case. */
  get(name: string): string | undefined;
}

/** One request, one answer. Exactly one of `reply` and `fail` counts: the first. */
export interface UnaryCall<Request, Response> {
  readonly request: Request;
  readonly metadata: CallMetadata;
  /** The client gave up: it cancelled, its deadline passed, or it is gone. */
  on(event: 'cancelled', listener: () => void): unknown;
  off(event: 'cancelled', listener: () => void): unknown;
  reply(response: Response): void;
  fail(status: GrpcStatus): void;
}

/** What a stream tells. `cancelled` comes when the client gave up or was cut; `close` last of all, whatever the end was. */
export type StreamCallEvent = 'cancelled' | 'close' | 'drain' | 'end';

/** A stream of answers. */
export interface ServerStreamCall<Request, Response> {
  readonly request: Request;
  readonly metadata: CallMetadata;
  on(event: StreamCallEvent, listener: () => void): unknown;
  /**
   * Sends a message. `accepted` is called when it was handed to the connection within the peer's flow control, perhaps before
   * this returns; never when the call ends before. False when the call holds its fill: `drain` follows.
   */
  write(message: Response, accepted?: () => void): boolean;
  /** Ends the call with OK, after all that was written. */
  end(): void;
  /** Ends the call with an error, after all that was written. */
  fail(status: GrpcStatus): void;
  /** The same by another than the handler, which hears `cancelled`. */
  cut(status: GrpcStatus): void;
}

/** Streams both ways. `data` and `end` (the client sends nothing more) come from the peer. */
export interface BidiCall<Request, Response> extends Omit<
  ServerStreamCall<never, Response>,
  'request' | 'on'
> {
  on(event: StreamCallEvent, listener: () => void): unknown;
  on(event: 'data', listener: (request: Request) => void): unknown;
  /** No `data` and no `end` until `resume`; the peer is slowed down by its flow control. */
  pause(): void;
  resume(): void;
}

export type UnaryHandler<Request, Response> = (call: UnaryCall<Request, Response>) => void;
export type ServerStreamHandler<Request, Response> = (call: ServerStreamCall<Request, Response>) => void;
export type BidiHandler<Request, Response> = (call: BidiCall<Request, Response>) => void;

/** The handler of some method: what a table of them holds. */
export type AnyHandler =
  UnaryHandler<never, never> | ServerStreamHandler<never, never> | BidiHandler<never, never>;

/** Handlers by the name of their method in the service definition. */
export type ServiceHandlers = Readonly<Record<string, AnyHandler>>;
