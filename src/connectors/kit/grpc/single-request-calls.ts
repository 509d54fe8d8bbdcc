import { GrpcFault, status } from '../grpc-status.js';
import { Call } from './call.js';
import type { ServerStreamCall, StreamCallEvent, UnaryCall } from './handlers.js';
import { Listeners } from './listeners.js';

/** A call whose client sends one message: its handler runs when that is there and the client has ended. */
abstract class SingleRequestCall extends Call {
  #bytes: Buffer | undefined;
  request: unknown;

  message(bytes: Buffer): void {
    if (this.#bytes !== undefined) throw new GrpcFault(status.UNIMPLEMENTED, 'Too many requests on one call');
    this.#bytes = bytes;
  }

  onData(piece: Buffer, flowBytes: number): void {
    this.stream.consumed(flowBytes);
    if (!this.isEnded) this.read(piece);
  }

  onEnd(): void {
    if (this.isEnded) return;
    const bytes = this.#bytes;
    if (bytes === undefined || this.reader.isInside) {
      this.fail({ code: status.INTERNAL, details: 'The request ended without its message' });
      return;
    }
    this.#bytes = undefined;
    try {
      this.request = this.decode(bytes);
    } catch (caught) {
      if (!(caught instanceof GrpcFault)) throw caught;
      this.fail(caught.status);
      return;
    }
    this.run();
  }
}

/** One request, one answer. */
export class UnaryServerCall extends SingleRequestCall implements UnaryCall<unknown, unknown> {
  #listeners: (() => void)[] | undefined;

  on(_event: 'cancelled', listener: () => void): void {
    (this.#listeners ??= []).push(listener);
  }

  off(_event: 'cancelled', listener: () => void): void {
    this.#listeners = this.#listeners?.filter((one) => one !== listener);
  }

  reply(response: unknown): void {
    if (this.isEnded) return;
    this.send(response);
    this.finish();
  }

  onRoom(): void {
    // Nothing more is written.
  }

  protected cancelled(): void {
    for (const listener of this.#listeners ?? []) listener();
  }

  protected closed(): void {
    this.#listeners = undefined;
  }
}

/** One request, a stream of answers. */
export class ServerStreamServerCall extends SingleRequestCall implements ServerStreamCall<unknown, unknown> {
  readonly #listeners = new Listeners<StreamCallEvent>();

  on(event: StreamCallEvent, listener: () => void): void {
    this.#listeners.add(event, listener);
  }

  write(message: unknown, accepted?: () => void): boolean {
    return !this.isEnded && this.send(message, accepted);
  }

  end(): void {
    this.finish();
  }

  onRoom(): void {
    this.#listeners.emit('drain');
  }

  protected cancelled(): void {
    this.#listeners.emit('cancelled');
  }

  protected closed(): void {
    this.#listeners.emit('close');
  }
}
