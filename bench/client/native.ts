import { bodyText, writeSequence } from './body.js';
import { GrpcConnection, type GrpcCall, type GrpcEnd } from './http2.js';
import { ProtoReader, ProtoWriter } from './proto.js';

const SERVICE = '/kubemq.kubemq';
const GET = 1;
const ACK_ALL = 2;
const NACK_ALL = 4;
const EVENTS = 1;
const EVENTS_STORE = 2;
const QUERIES = 4;
const START_AT_SEQUENCE = 4;

export interface NativeReceived {
  readonly id: string;
  /** Valid during the call only. */
  readonly body: Uint8Array;
}

export interface NativePoll {
  readonly transactionId: string;
  readonly messages: readonly NativeReceived[];
  readonly error: string;
}

/** Outcome of an upstream request: its own id and each message's error ('' = stored). */
export interface NativeSent {
  readonly requestId: string;
  readonly errors: readonly string[];
}

export interface EventSubscription {
  /** The broker keeps a position for each client and channel: a new name begins at `sequence`. */
  readonly clientId: string;
  readonly channel: string;
  readonly sequence: number;
  readonly onEvent: (event: Uint8Array) => void;
}

/** The native gRPC API over a raw connection. */
export class NativeConnection {
  readonly grpc: GrpcConnection;

  private constructor(grpc: GrpcConnection) {
    this.grpc = grpc;
  }

  static async open(port: number, host?: string): Promise<NativeConnection> {
    return new NativeConnection(await GrpcConnection.open(port, host));
  }

  async ping(): Promise<void> {
    await this.grpc.unary(`${SERVICE}/Ping`, new Uint8Array(0));
  }

  /** SendQueueMessage with an encoded message; throws the error of its result. */
  async sendQueueMessage(message: Uint8Array): Promise<void> {
    const result = new ProtoReader(await this.grpc.unary(`${SERVICE}/SendQueueMessage`, message));
    const error = readResult(result);
    if (error !== '') throw new Error(error);
  }

  /** SendEvent with an encoded event; throws the error of its result. */
  async sendEvent(event: Uint8Array): Promise<void> {
    const result = new ProtoReader(await this.grpc.unary(`${SERVICE}/SendEvent`, event));
    let sent = false;
    let error = '';
    while (result.next()) {
      if (result.field === 2) sent = result.value !== 0;
      else if (result.field === 3) error = result.text();
    }
    if (!sent) throw new Error(error === '' ? 'an event was not sent' : error);
  }

  /** Subscribes to stored events; `onEvent` gets encoded ones, valid during the call only. */
  subscribeFromSequence({ clientId, channel, sequence, onEvent }: EventSubscription): GrpcCall {
    const request = new ProtoWriter().varint(1, EVENTS_STORE).text(2, clientId).text(3, channel);
    const call = this.grpc.open(`${SERVICE}/SubscribeToEvents`, {
      onMessage: onEvent,
      onEnd: () => undefined,
    });
    call.write(request.varint(5, START_AT_SEQUENCE).varint(6, sequence).finish());
    call.finish();
    return call;
  }

  /** Drops every ready message; gives their number. */
  async ackAll(channel: string): Promise<number> {
    const request = new ProtoWriter()
      .text(1, 'bench')
      .text(2, 'bench')
      .text(3, channel)
      .varint(4, 1)
      .finish();
    const answer = new ProtoReader(await this.grpc.unary(`${SERVICE}/AckAllQueueMessages`, request));
    let affected = 0;
    while (answer.next()) if (answer.field === 2) affected = answer.value;
    return affected;
  }

  openUpstream(onSent: (sent: NativeSent) => void, onEnd: (end: GrpcEnd) => void): GrpcCall {
    return this.grpc.open(`${SERVICE}/QueuesUpstream`, {
      onMessage: (message) => onSent(readUpstream(message)),
      onEnd,
    });
  }

  openDownstream(onPoll: (poll: NativePoll) => void, onEnd: (end: GrpcEnd) => void): Downstream {
    const call = this.grpc.open(`${SERVICE}/QueuesDownstream`, {
      onMessage: (message) => onPoll(readDownstream(message)),
      onEnd,
    });
    return new Downstream(call);
  }

  /** A stream for encoded live events; only bad ones are answered. */
  openEvents(): GrpcCall {
    return this.grpc.open(`${SERVICE}/SendEventsStream`, {
      onMessage: () => undefined,
      onEnd: () => undefined,
    });
  }

  /** Subscribes to live events; `onBody` gets bodies, valid during the call only. */
  listen(channel: string, onBody: (body: Uint8Array) => void): void {
    const request = new ProtoWriter().varint(1, EVENTS).text(2, 'bench').text(3, channel).finish();
    const call = this.grpc.open(`${SERVICE}/SubscribeToEvents`, {
      onMessage: (event) => onBody(readEvent(event).body),
      onEnd: () => undefined,
    });
    call.write(request);
    call.finish();
  }

  /** Queries that were answered. */
  served = 0;

  /** Answers every query of a channel with its own body. */
  serveQueries(channel: string): void {
    const request = new ProtoWriter().varint(1, QUERIES).text(2, 'bench').text(3, channel).finish();
    const call = this.grpc.open(`${SERVICE}/SubscribeToRequests`, {
      onMessage: (query) => {
        this.served++;
        this.grpc.unary(`${SERVICE}/SendResponse`, responseTo(query)).catch(() => undefined);
      },
      onEnd: () => undefined,
    });
    call.write(request);
    call.finish();
  }

  /** Sends an encoded query and waits for its answer. */
  async ask(request: Uint8Array): Promise<void> {
    await this.grpc.unary(`${SERVICE}/SendRequest`, request);
  }

  close(): void {
    this.grpc.close();
  }
}

export class Downstream {
  readonly #call: GrpcCall;
  #requests = 0;

  constructor(call: GrpcCall) {
    this.#call = call;
  }

  /** Asks for up to `max` messages, waiting `waitMs` for the first. */
  get(channel: string, max: number, waitMs: number): void {
    const request = this.#request(GET).text(4, channel).varint(5, max).varint(6, waitMs);
    this.#call.write(request.finish());
  }

  ackAll(transactionId: string): void {
    this.#call.write(this.#request(ACK_ALL).text(10, transactionId).finish());
  }

  nackAll(transactionId: string): void {
    this.#call.write(this.#request(NACK_ALL).text(10, transactionId).finish());
  }

  cancel(): void {
    this.#call.cancel();
  }

  #request(type: number): ProtoWriter {
    return new ProtoWriter().text(1, String(++this.#requests)).text(2, 'bench').varint(3, type);
  }
}

export interface MessageTemplate {
  readonly message: Buffer;
  readonly sequenceOffset: number;
}

/** An encoded QueueMessage whose body's number is written in place; `deadLetterTo`: its first return sends it there. */
export function queueMessageTemplate(channel: string, deadLetterTo = ''): MessageTemplate {
  const body = Buffer.from(bodyText(), 'latin1');
  const writer = new ProtoWriter().text(2, 'bench').text(3, channel).bytes(5, body);
  if (deadLetterTo !== '') writer.bytes(8, new ProtoWriter().varint(3, 1).text(4, deadLetterTo).finish());
  const message = writer.finish();
  return { message, sequenceOffset: message.indexOf(body) };
}

/** A QueuesUpstreamRequest of encoded messages. */
export function upstreamRequest(requestId: string, messages: readonly Uint8Array[]): Buffer {
  const request = new ProtoWriter().text(1, requestId);
  for (const message of messages) request.bytes(2, message);
  return request.finish();
}

function readResult(result: ProtoReader): string {
  let isError = false;
  let error = '';
  while (result.next()) {
    if (result.field === 5) isError = result.value !== 0;
    else if (result.field === 6) error = result.text();
  }
  return isError ? error || 'error without a text' : '';
}

function readUpstream(message: Uint8Array): NativeSent {
  const answer = new ProtoReader(message);
  let requestId = '';
  const errors: string[] = [];
  let failure = '';
  while (answer.next()) {
    if (answer.field === 1) requestId = answer.text();
    else if (answer.field === 2) errors.push(readResult(answer.message()));
    else if (answer.field === 3 && answer.value !== 0) failure ||= 'error without a text';
    else if (answer.field === 4) failure = answer.text() || failure;
  }
  return { requestId, errors: failure === '' ? errors : [failure] };
}

function readDownstream(message: Uint8Array): NativePoll {
  const answer = new ProtoReader(message);
  let transactionId = '';
  let error = '';
  const messages: NativeReceived[] = [];
  while (answer.next()) {
    if (answer.field === 1) transactionId = answer.text();
    else if (answer.field === 7) error = answer.text();
    else if (answer.field === 4) messages.push(readMessage(answer.message()));
  }
  return { transactionId, messages, error };
}

function readMessage(message: ProtoReader): NativeReceived {
  let id = '';
  let body: Uint8Array = new Uint8Array(0);
  while (message.next()) {
    if (message.field === 1) id = message.text();
    else if (message.field === 5) body = message.slice();
  }
  return { id, body };
}

/** An encoded Events Store event whose body carries `sequence`. */
export function storedEvent(channel: string, sequence: number): Buffer {
  const body = Buffer.from(bodyText(), 'latin1');
  writeSequence(body, 0, sequence);
  return new ProtoWriter().text(2, 'bench').text(3, channel).bytes(5, body).varint(6, 1).finish();
}

export function readEvent(event: Uint8Array): { readonly sequence: number; readonly body: Uint8Array } {
  const reader = new ProtoReader(event);
  let sequence = 0;
  let body: Uint8Array = new Uint8Array(0);
  while (reader.next()) {
    if (reader.field === 6) sequence = reader.value;
    else if (reader.field === 4) body = reader.slice();
  }
  return { sequence, body };
}

/** An encoded live event whose body's number is written in place. */
export function eventTemplate(channel: string): { readonly event: Buffer; readonly sequenceOffset: number } {
  const body = Buffer.from(bodyText(), 'latin1');
  const event = new ProtoWriter().text(1, 'event').text(2, 'bench').text(3, channel).bytes(5, body).finish();
  return { event, sequenceOffset: event.indexOf(body) };
}

/** The same of a query. */
export function requestTemplate(channel: string): {
  readonly request: Buffer;
  readonly sequenceOffset: number;
} {
  const body = Buffer.from(bodyText(), 'latin1');
  const writer = new ProtoWriter().varint(2, 2).text(3, 'bench').text(4, channel).bytes(6, body);
  const request = writer.varint(8, 10_000).finish();
  return { request, sequenceOffset: request.indexOf(body) };
}

function responseTo(query: Uint8Array): Buffer {
  const reader = new ProtoReader(query);
  let id = '';
  let replyChannel = '';
  let body: Uint8Array = new Uint8Array(0);
  while (reader.next()) {
    if (reader.field === 1) id = reader.text();
    else if (reader.field === 6) body = reader.slice();
    else if (reader.field === 7) replyChannel = reader.text();
  }
  return new ProtoWriter()
    .text(1, 'bench')
    .text(2, id)
    .text(3, replyChannel)
    .bytes(5, body)
    .varint(8, 1)
    .finish();
}
