import * as wire from '../../../src/connectors/native/wire/messages.js';
import type { Random } from '../../support/random.js';

/** What clients of the native API send, bent: of REST in JSON, of gRPC in bytes. */

const pick = <T>(random: Random, from: readonly T[]): T => from[random.below(from.length)] as T;

/** Fields of all requests, with values that pass, nearly pass, or mean something else elsewhere. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  ClientID: ['c', 'c', 'c', '', 'ü', 7],
  Channel: ['q', 'q', 'q', 'r', 'e.a', '', 'a b', 'a.', 'a.*', 'a;b', '>', 'x'.repeat(1025), null],
  Metadata: ['m', '', 'list-channels', '\u0000', 3],
  Body: ['aGVsbG8=', 'aGVsbG8=', '', 'AA', '%%%', 'AAAA\n', 5, []],
  Tags: [{}, { k: 'v' }, { '': '' }, { k: 1 }, [['k', 'v']], 'k=v', null],
  Store: [true, false, 'true', 1, null],
  EventID: ['', 'id', 9],
  MessageID: ['', 'id', 'id', {}],
  Id: ['alias', 1],
  RequestID: ['', 'r1', []],
  RequestTypeData: [1, 2, 0, 3, -1, '2', 1.5],
  ReplyChannel: ['x', '', 'node/1', 'a b'],
  Timeout: [1, 2, 0, -1, '1', 2 ** 31, '9'.repeat(30)],
  CacheKey: ['', 'key'],
  CacheTTL: [0, 1, -1, 2_147_483_648],
  Executed: [true, false, 'no'],
  Error: ['', 'e'],
  Timestamp: [0, '1700000000123456789', -1, 1e300, '1e3', '9223372036854775808'],
  BatchID: ['', 'b'],
  MaxNumberOfMessages: [1, 2, 1024, 0, -1, 1025, '1', 'x'],
  WaitTimeSeconds: [0, 1, 1, -1, 3601, null, '1'],
  IsPeak: [true, false, 'yes'],
  Policy: [
    {},
    { DelaySeconds: 1 },
    { ExpirationSeconds: 1, MaxReceiveCount: 1, MaxReceiveQueue: 'dead' },
    { DelaySeconds: -1 },
    { MaxReceiveCount: 1025 },
    { MaxReceiveQueue: 'a b' },
    [],
    7,
  ],
  Attributes: [{}, { Sequence: -1 }, { MD5OfBody: 5 }, null],
  Span: ['', 'AA=='],
  QueueName: ['', 'q', 'q;r', ';', ';;q', 4],
};
const NAMES = Object.keys(VALUES);
const MESSAGE = ['MessageID', 'ClientID', 'Channel', 'Metadata', 'Body', 'Tags', 'Policy'];

/** The fields that each route reads. */
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  '/send/event': ['EventID', 'ClientID', 'Channel', 'Metadata', 'Body', 'Store', 'Tags'],
  '/send/request': [
    ...['RequestID', 'RequestTypeData', 'ClientID', 'Channel', 'Metadata', 'Body'],
    ...['Timeout', 'CacheKey', 'CacheTTL', 'Span', 'Tags'],
  ],
  '/send/response': ['ClientID', 'RequestID', 'ReplyChannel', 'Body', 'Executed', 'Error', 'Timestamp'],
  '/queue/send': MESSAGE,
  '/queue/send_batch': ['BatchID'],
  '/queue/receive': ['RequestID', 'ClientID', 'Channel', 'MaxNumberOfMessages', 'WaitTimeSeconds', 'IsPeak'],
  '/queue/ack_all': ['RequestID', 'ClientID', 'Channel', 'WaitTimeSeconds'],
  '/queue/info': ['RequestID', 'QueueName'],
};
const PATHS = Object.keys(ROUTES);

export interface RestInput {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

export function restInput(random: Random): RestInput {
  const path = pick(random, PATHS);
  const value = random.chance(0.03) ? anything(random, 0) : requestOf(random, path);
  let body: Buffer = Buffer.from(JSON.stringify(value));
  if (random.chance(0.15)) body = damaged(random, body);
  else if (random.chance(0.02)) body = nest(random);
  return { method: path === '/queue/info' ? 'GET' : 'POST', path, body };
}

function requestOf(random: Random, path: string): Record<string, unknown> {
  const made = fieldsOf(random, ROUTES[path] ?? []);
  if (path !== '/queue/send_batch') return made;
  const messages = Array.from({ length: random.below(4) }, () =>
    random.chance(0.05) ? anything(random, 1) : fieldsOf(random, MESSAGE),
  );
  return { ...made, Messages: random.chance(0.05) ? anything(random, 1) : messages };
}

function fieldsOf(random: Random, names: readonly string[]): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const name of names) {
    if (random.chance(0.06)) continue;
    // Mostly the first value, which passes: else nothing would come far.
    const value = random.chance(0.6) ? VALUES[name]?.[0] : pick(random, VALUES[name] ?? [null]);
    made[random.chance(0.1) ? otherCase(random, name) : name] = value;
  }
  if (random.chance(0.05)) made[pick(random, NAMES)] = anything(random, 0);
  return made;
}

function otherCase(random: Random, name: string): string {
  return Array.from(name, (c) => (random.chance(0.5) ? c.toLowerCase() : c.toUpperCase())).join('');
}

function anything(random: Random, depth: number): unknown {
  const kind = random.below(depth > 3 ? 5 : 7);
  if (kind === 5) return Array.from({ length: random.below(4) }, () => anything(random, depth + 1));
  if (kind === 6)
    return { [pick(random, [...NAMES, '__proto__', 'constructor'])]: anything(random, depth + 1) };
  return pick(random, [null, true, 0, -0.5, 1e300, 'text', '', '\ud800', Number.MAX_SAFE_INTEGER]);
}

/** Brackets in brackets. */
function nest(random: Random): Buffer {
  const depth = random.below(2000);
  return Buffer.from(`{"Tags":${'['.repeat(depth)}${random.chance(0.5) ? ']'.repeat(depth) : ''}}`);
}

/** Some bytes changed, cut off, doubled, or only noise. */
export function damaged(random: Random, whole: Buffer): Buffer {
  if (random.chance(0.1))
    return Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)));
  let bytes = Buffer.from(whole);
  if (bytes.length === 0) return bytes;
  for (let i = random.below(4); i > 0; i--) bytes[random.below(bytes.length)] = random.below(256);
  if (random.chance(0.3)) bytes = bytes.subarray(0, random.below(bytes.length));
  if (random.chance(0.1)) bytes = Buffer.concat([bytes, bytes]);
  return bytes;
}

const text = (value: string): Buffer => Buffer.from(value);
const message = (channel: string) => ({
  messageId: 'id',
  clientId: 'c',
  channel,
  metadata: 'm',
  body: text('hello'),
  tags: new Map([['k', 'v']]),
  policy: { delaySeconds: 0, expirationSeconds: 5, maxReceiveCount: 2, maxReceiveQueue: 'dead' },
});

/** Calls as clients make them, by method. Streams get several of theirs. */
export const CALLS: Readonly<Record<string, readonly Buffer[]>> = {
  Ping: [wire.Empty.encode({})],
  SendEvent: [
    wire.Event.encode({ clientId: 'c', channel: 'e.a', body: text('x'), store: true }),
    wire.Event.encode({ clientId: 'c', channel: 'e.a', metadata: 'm', tags: new Map([['k', 'v']]) }),
  ],
  SendEventsStream: [
    wire.Event.encode({ eventId: '1', clientId: 'c', channel: 'e.a', body: text('x'), store: true }),
    wire.Event.encode({ eventId: '2', clientId: 'c', channel: 'e.a', body: text('x') }),
  ],
  SendRequest: [
    wire.Request.encode({
      requestType: 2,
      clientId: 'c',
      channel: 'kubemq.cluster.internal.requests',
      metadata: 'list-channels',
      timeoutMs: 1,
      tags: new Map([['channel_type', 'queues']]),
    }),
    wire.Request.encode({ requestType: 1, clientId: 'c', channel: 'q', body: text('x'), timeoutMs: 1 }),
  ],
  SendResponse: [
    wire.Response.encode({ clientId: 'c', requestId: 'r', replyChannel: 'x', executed: true, timestamp: 5n }),
  ],
  SendQueueMessage: [wire.QueueMessage.encode(message('q'))],
  SendQueueMessagesBatch: [
    wire.QueueMessagesBatchRequest.encode({ batchId: 'b', messages: [message('q'), message('r')] }),
  ],
  ReceiveQueueMessages: [
    wire.ReceiveQueueMessagesRequest.encode({
      clientId: 'c',
      channel: 'q',
      maxNumberOfMessages: 3,
      waitTimeSeconds: 1,
    }),
  ],
  AckAllQueueMessages: [wire.AckAllQueueMessagesRequest.encode({ clientId: 'c', channel: 'q' })],
  QueuesInfo: [wire.QueuesInfoRequest.encode({ queueName: 'q;r' })],
  QueuesUpstream: [
    wire.QueuesUpstreamRequest.encode({ requestId: 'r', messages: [message('q'), message('r')] }),
    wire.QueuesUpstreamRequest.encode({ requestId: 'r' }),
  ],
  QueuesDownstream: [
    wire.QueuesDownstreamRequest.encode({
      requestId: '1',
      clientId: 'c',
      requestType: 1,
      channel: 'q',
      maxItems: 2,
      waitTimeoutMs: 1000,
      autoAck: true,
    }),
    wire.QueuesDownstreamRequest.encode({ requestId: '2', clientId: 'c', requestType: 1, channel: 'q' }),
    wire.QueuesDownstreamRequest.encode({
      requestId: '3',
      requestType: 5,
      refTransactionId: 't',
      sequenceRange: [1, 2, 3],
    }),
    wire.QueuesDownstreamRequest.encode({ requestId: '4', requestType: 6, reQueueChannel: 'r' }),
    wire.QueuesDownstreamRequest.encode({ requestId: '5', requestType: 10 }),
  ],
  StreamQueueMessage: [
    wire.StreamQueueMessagesRequest.encode({
      requestType: 1,
      clientId: 'c',
      channel: 'q',
      visibilitySeconds: 2,
      waitTimeSeconds: 1,
    }),
    wire.StreamQueueMessagesRequest.encode({ requestType: 2, clientId: 'c', refSequence: 1 }),
    wire.StreamQueueMessagesRequest.encode({ requestType: 6, clientId: 'c', modifiedMessage: message('r') }),
    wire.StreamQueueMessagesRequest.encode({ requestType: 4, visibilitySeconds: 1 }),
  ],
};
const METHODS = Object.keys(CALLS);
const STREAMS = /Stream$|^StreamQueue|^Queues(Up|Down)/;

export interface GrpcInput {
  readonly method: string;
  /** What the call sends, one after the other. */
  readonly payloads: readonly Buffer[];
}

export function grpcInput(random: Random): GrpcInput {
  const method = pick(random, METHODS);
  const seeds = CALLS[method] ?? [];
  const count = STREAMS.test(method) ? 1 + random.below(4) : 1;
  const payloads = Array.from({ length: count }, () => {
    const seed = pick(random, seeds);
    return random.chance(0.4) ? seed : damaged(random, seed);
  });
  return { method, payloads };
}
