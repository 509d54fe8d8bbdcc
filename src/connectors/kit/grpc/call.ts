import { GrpcFault, status, type GrpcStatus } from '../grpc-status.js';
import { fieldOf, type RequestHead } from '../http2/request-head.js';
import type { Http2Stream, StreamServer } from '../http2/stream.js';
import type { CallContext } from './context.js';
import type { CallMetadata } from './handlers.js';
import { OK_TRAILERS, RESPONSE_HEADERS, statusOnly, statusTrailers } from './header-blocks.js';
import { MESSAGE_HEAD_BYTES, MessageReader } from './message-reader.js';
import type { Route } from './route.js';

/** Filled for each message and copied at once. */
const messageHead = Buffer.alloc(MESSAGE_HEAD_BYTES);
const DEADLINE_EXCEEDED: GrpcStatus = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' };

/** What all kinds of calls share: messages in and out, deadline, and one end. */
export abstract class Call implements StreamServer, CallMetadata {
  protected readonly stream: Http2Stream;
  protected readonly route: Route;
  protected readonly context: CallContext;
  protected readonly reader: MessageReader;
  readonly #head: RequestHead;
  #deadline = -1;
  #hasHeaders = false;
  /** An end was decided; nothing more is written. */
  protected isEnded = false;
  /** Bytes of a message that is not complete, as counted for the connection. */
  #heldBytes = 0;

  constructor(stream: Http2Stream, head: RequestHead, route: Route, context: CallContext) {
    this.stream = stream;
    this.route = route;
    this.context = context;
    this.#head = head;
    this.reader = new MessageReader(this, route.compression, context.maxReceiveBytes);
    if (route.timeoutMs !== undefined) this.#deadline = context.deadlines.add(this, route.timeoutMs);
  }

  abstract message(bytes: Buffer): void;
  abstract onData(piece: Buffer, flowBytes: number): void;
  abstract onEnd(): void;
  abstract onRoom(): void;

  get metadata(): CallMetadata {
    return this;
  }

  get peerName(): string | undefined {
    return this.context.peerName;
  }

  get(name: string): string | undefined {
    return fieldOf(this.#head.fields, name);
  }

  /** Ends the call with an error. */
  fail(end: GrpcStatus): void {
    if (this.isEnded) return;
    this.ending();
    this.#sendStatus(end);
  }

  /** Ends the call with an error for whatever was caught. */
  protected failWith(caught: unknown): void {
    if (caught instanceof GrpcFault) {
      this.fail(caught.status);
      return;
    }
    const error = caught instanceof Error ? (caught.stack ?? caught.message) : String(caught);
    this.context.log.error('gRPC call failed', { path: this.route.method.path, error });
    this.fail({ code: status.INTERNAL, details: 'Internal error' });
  }

  /** The time of the call is over. */
  expire(): void {
    this.#deadline = -1;
    this.cut(DEADLINE_EXCEEDED);
  }

  cut(end: GrpcStatus): void {
    if (this.isEnded) return;
    this.ending();
    this.cancelled();
    this.#sendStatus(end);
  }

  onOver(code: number | undefined): void {
    this.#hold(0);
    if (code !== undefined && !this.isEnded) {
      this.ending();
      this.cancelled();
    }
    this.closed();
  }

  protected abstract cancelled(): void;
  protected abstract closed(): void;

  /** Feeds the body to the reader; ends the call when that is no good. */
  protected read(piece: Buffer): void {
    try {
      this.reader.push(piece);
      this.#hold(this.reader.heldBytes);
    } catch (caught) {
      this.failWith(caught);
    }
  }

  /** The message as the method's request. Throws GrpcFault. */
  protected decode(bytes: Buffer): unknown {
    try {
      return this.route.method.request.decode(bytes);
    } catch (caught) {
      throw new GrpcFault(status.INTERNAL, `Error deserializing request: ${textOf(caught)}`);
    }
  }

  /** Runs the method's handler on this call. */
  protected run(): void {
    try {
      this.route.handler(this as never);
    } catch (caught) {
      this.failWith(caught);
    }
  }

  protected send(message: unknown, accepted?: () => void): boolean {
    const { response } = this.route.method;
    let bytes: Uint8Array;
    try {
      bytes = response.lend?.(message as never) ?? response.encode(message as never);
    } catch (caught) {
      this.failWith(caught);
      return false;
    }
    if (!this.#hasHeaders) {
      this.#hasHeaders = true;
      this.stream.respond(RESPONSE_HEADERS, false);
    }
    messageHead.writeUInt32BE(bytes.length, 1);
    return this.stream.write(messageHead, bytes, accepted, response.lend !== undefined);
  }

  protected finish(): void {
    if (this.isEnded) return;
    this.ending();
    if (!this.#hasHeaders) this.stream.respond(RESPONSE_HEADERS, false);
    this.stream.finish(OK_TRAILERS);
  }

  protected ending(): void {
    this.isEnded = true;
    if (this.#deadline === -1) return;
    this.context.deadlines.remove(this.#deadline);
    this.#deadline = -1;
  }

  #hold(bytes: number): void {
    if (bytes === this.#heldBytes) return;
    const { context } = this;
    context.heldBytes += bytes - this.#heldBytes;
    this.#heldBytes = bytes;
    if (bytes > 0 && context.heldBytes > context.heldBytesMax) {
      throw new GrpcFault(status.RESOURCE_EXHAUSTED, 'Too many unfinished messages on one connection');
    }
  }

  #sendStatus(end: GrpcStatus): void {
    if (this.#hasHeaders) this.stream.finish(statusTrailers(end));
    else this.stream.respond(statusOnly(end), true);
  }
}

function textOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}
