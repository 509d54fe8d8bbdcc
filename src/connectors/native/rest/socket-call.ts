import type { WebSocket } from 'ws';
import { status, type GrpcStatus } from '../../kit/grpc-status.js';
import type { BidiCall, ServerStreamCall } from '../../kit/grpc-call.js';
import type { CallMetadata, StreamCallEvent } from '../../kit/grpc/handlers.js';
import { TEXTS } from '../error-texts.js';
import { NATIVE_LIMITS } from '../limits.js';
import { writeJson } from '../wire/json-text.js';
import type { JsonType } from '../wire/json.js';
import type { Fields } from '../wire/protobuf.js';
import { envelope } from './envelope.js';

/** Close codes (RFC 6455 section 7.4.1). */
const CLOSE = { done: 1000, goingAway: 1001, refused: 1008, failed: 1011 } as const;

export interface SocketCallParts {
  readonly metadata: CallMetadata;
  /** What a subscription asks for. */
  readonly request: unknown;
  readonly incoming: JsonType<Fields>;
  readonly outgoing: JsonType<Fields>;
  /** The answer to a message that is none. */
  readonly bad: (text: string) => Record<string, unknown>;
}

type Listener = (request: unknown) => void;

/**
 * A streaming operation over a WebSocket. It begins before the socket is there, so that what is refused at once can be
 * answered in HTTP.
 */
export class SocketCall
  implements
    ServerStreamCall<unknown, Record<string, unknown>>,
    Omit<BidiCall<unknown, Record<string, unknown>>, 'request'>
{
  readonly metadata: CallMetadata;
  readonly request: unknown;
  readonly #parts: SocketCallParts;
  readonly #listeners: Record<StreamCallEvent | 'data', Listener[]> = {
    cancelled: [],
    close: [],
    drain: [],
    end: [],
    data: [],
  };
  #socket: WebSocket | undefined;
  #isEnded = false;
  #isPaused = false;
  #wasRefused = false;
  /** How the call was refused before there was a socket. */
  refusal: GrpcStatus | undefined;
  #early: (() => void)[] = [];

  constructor(parts: SocketCallParts) {
    this.#parts = parts;
    this.metadata = parts.metadata;
    this.request = parts.request;
  }

  on(event: StreamCallEvent | 'data', listener: Listener | (() => void)): void {
    this.#listeners[event].push(listener);
  }

  /** The socket is there. */
  open(socket: WebSocket): void {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) this.#take(data);
    });
    socket.on('close', () => this.gone());
    // What breaks a socket closes it.
    socket.on('error', () => undefined);
    if (this.#isPaused) socket.pause();
    for (const step of this.#early.splice(0)) step();
  }

  /** The peer is gone, or never came. */
  gone(): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#emit('cancelled');
    }
    this.#emit('close');
  }

  write(message: Record<string, unknown>, accepted?: () => void): boolean {
    if (this.#isEnded) return false;
    const socket = this.#socket;
    if (socket === undefined) {
      this.#early.push(() => void this.write(message, accepted));
      return true;
    }
    socket.send(this.#text(message), (error) => {
      if (error instanceof Error) return;
      accepted?.();
      if (!this.#wasRefused || socket.bufferedAmount > NATIVE_LIMITS.webSocketPendingBytes) return;
      this.#wasRefused = false;
      this.#emit('drain');
    });
    if (socket.bufferedAmount <= NATIVE_LIMITS.webSocketPendingBytes) return true;
    this.#wasRefused = true;
    return false;
  }

  end(): void {
    this.#finish(undefined, CLOSE.done);
  }

  fail(answer: GrpcStatus): void {
    const isGoing = answer.code === status.UNAVAILABLE;
    const isRefused = answer.code === status.UNAUTHENTICATED || answer.code === status.PERMISSION_DENIED;
    if (this.#socket === undefined) this.refusal ??= answer;
    const text = isGoing ? TEXTS.webSocketClosed : answer.details;
    this.#finish(text, isGoing ? CLOSE.goingAway : isRefused ? CLOSE.refused : CLOSE.failed);
  }

  cut(answer: GrpcStatus): void {
    if (this.#isEnded) return;
    this.#emit('cancelled');
    this.fail(answer);
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket?.resume();
  }

  #finish(error: string | undefined, code: number): void {
    if (this.#isEnded) return;
    const socket = this.#socket;
    if (socket === undefined && this.refusal === undefined) {
      this.#early.push(() => this.#finish(error, code));
      return;
    }
    this.#isEnded = true;
    if (socket === undefined) {
      this.#emit('close');
      return;
    }
    if (error !== undefined) socket.send(envelope(null, error), () => undefined);
    socket.close(code);
  }

  #take(data: Buffer): void {
    if (this.#isEnded) return;
    let request: unknown;
    try {
      request = this.#parts.incoming.decode(data.toString());
    } catch (caught) {
      this.write(this.#parts.bad(caught instanceof Error ? caught.message : String(caught)));
      return;
    }
    for (const listener of this.#listeners.data) listener(request);
  }

  #text(message: Record<string, unknown>): string {
    return writeJson(this.#parts.outgoing.toJson(message));
  }

  #emit(event: StreamCallEvent): void {
    for (const listener of this.#listeners[event]) listener(undefined);
  }
}
