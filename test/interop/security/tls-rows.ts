import { request } from 'node:https';
import { connect as connectHttp2 } from 'node:http2';
import { connect as tlsConnect } from 'node:tls';
import { AMQPWebSocketClient } from '@cloudamqp/amqp-client';
import { CreateTopicCommand, SNSClient } from '@aws-sdk/client-sns';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { v1 } from '@google-cloud/pubsub';
import { credentials } from '@grpc/grpc-js';
import { connect, credentials as amqpCredentials } from 'amqplib';
import { Agent } from 'node:https';
import { WebSocket } from 'ws';
import type { Certificate } from '../../support/certificates.js';
import { NativeClient } from '../../support/native-client.js';

/** How a client speaks TLS. */
export interface TlsClient {
  /** Whom it believes. */
  readonly ca: string;
  /** What it shows of itself. */
  readonly own?: Certificate | undefined;
}

/** One way to speak with a listener. */
export interface TlsRow {
  readonly name: string;
  /** As in the `ready` line. */
  readonly listener: string;
  /**
   * Asks for something that rules are about, over TLS. Rejects when the connection is refused, or with `Refused` when the answer
   * is that its sender may not.
   */
  readonly speak: (port: number, tls: TlsClient, name?: string) => Promise<void>;
  /** Whether the common name of the client's certificate is who it is; else `name` says so. */
  readonly identity: 'certificate' | 'name';
}

/** The listener answered that this client may not, in its own words. */
export class Refused extends Error {}

const QUEUE = 'tls-row';

function own({ own }: TlsClient) {
  return own === undefined ? {} : { cert: own.certificate, key: own.key };
}

/** Answer of one HTTPS request on a connection of its own. */
function ask(
  port: number,
  tls: TlsClient,
  {
    method = 'GET',
    path,
    headers = {},
    body = '',
  }: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, path, method, headers, ca: tls.ca, agent: false };
    request({ ...options, ...own(tls) }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end(body);
  });
}

function accepted(answer: { readonly status: number; readonly text: string }): void {
  if (answer.status === 401 || answer.status === 403) throw new Refused(answer.text);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
}

function channelCredentials(tls: TlsClient) {
  const ca = Buffer.from(tls.ca);
  return tls.own === undefined
    ? credentials.createSsl(ca)
    : credentials.createSsl(ca, Buffer.from(tls.own.key), Buffer.from(tls.own.certificate));
}

function awsOptions(port: number, tls: TlsClient, name: string) {
  return {
    endpoint: `https://localhost:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: name, secretAccessKey: 'secret' },
    maxAttempts: 1,
    requestHandler: { httpsAgent: new Agent({ ca: tls.ca, ...own(tls) }) },
  };
}

const ACCESS_DENIED = ['AccessDenied', 'AuthorizationErrorException'];

/** Runs one call of an AWS client. */
async function aws(client: { destroy(): void }, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (error instanceof Error && ACCESS_DENIED.includes(error.name)) throw new Refused(error.name);
    throw error;
  } finally {
    client.destroy();
  }
}

/** A gRPC status that says so: PERMISSION_DENIED. */
function grpc(error: unknown): never {
  const { code, details = '' } = error as { readonly code?: number; readonly details?: string };
  throw code === 7 ? new Refused(details) : error;
}

async function nativeGrpc(port: number, tls: TlsClient): Promise<void> {
  const client = new NativeClient(`localhost:${port}`, 'somebody', { credentials: channelCredentials(tls) });
  try {
    const sent = await client.sendEvent({ Channel: QUEUE, Body: Buffer.from('x') }).catch(grpc);
    if (!sent.Sent) throw new Error(sent.Error);
  } finally {
    client.close();
  }
}

async function nativeRest(port: number, tls: TlsClient): Promise<void> {
  accepted(
    await ask(port, tls, {
      method: 'POST',
      path: '/send/event',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ClientID: 'somebody', Channel: QUEUE, Body: 'eA==' }),
    }),
  );
}

/** Sends one event in a frame. */
function nativeWebSocket(port: number, tls: TlsClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://localhost:${port}/send/stream`, { ca: tls.ca, ...own(tls) });
    socket.on('error', reject);
    socket.on('open', () =>
      socket.send(JSON.stringify({ EventID: '1', ClientID: 'somebody', Channel: QUEUE, Body: 'eA==' })),
    );
    socket.on('message', (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as { readonly Sent?: boolean; readonly Error?: string };
      socket.terminate();
      if (answer.Sent === true) resolve();
      else reject(new Refused(answer.Error));
    });
  });
}

async function pubsubGrpc(port: number, tls: TlsClient): Promise<void> {
  const client = new v1.PublisherClient({
    servicePath: 'localhost',
    port,
    sslCreds: channelCredentials(tls),
    projectId: 'p',
  });
  try {
    // Without attempts to come again: a refused handshake is to be seen.
    const options = { retry: null, timeout: 10_000 };
    await client
      .updateTopic(
        { topic: { name: 'projects/p/topics/tls-row' }, updateMask: { paths: ['labels'] } },
        options as never,
      )
      .catch((error: unknown) => {
        // What is not there was looked for: it was allowed.
        if ((error as { readonly code?: number }).code !== 5) grpc(error);
      });
  } finally {
    await client.close();
  }
}

const TOPIC_PATH = '/v1/projects/p/topics/tls-row';

async function pubsubRest(port: number, tls: TlsClient): Promise<void> {
  const answer = await ask(port, tls, { path: TOPIC_PATH });
  if (answer.status !== 404) accepted(answer);
}

async function pubsubRestOverHttp2(port: number, tls: TlsClient): Promise<void> {
  const session = connectHttp2(`https://localhost:${port}`, { ca: tls.ca, ...own(tls) });
  try {
    const status = await new Promise<number>((resolve, reject) => {
      session.on('error', reject);
      session.on('close', () => reject(new Error('it was closed')));
      const stream = session.request({ ':path': TOPIC_PATH });
      stream.on('error', reject);
      stream.on('response', (headers) => resolve(headers[':status'] ?? 0));
      stream.end();
    });
    if (status !== 404) accepted({ status, text: '' });
  } finally {
    session.destroy();
  }
}

async function amqps(port: number, tls: TlsClient): Promise<void> {
  const connection = await connect(`amqps://guest:guest@localhost:${port}`, {
    ca: [tls.ca],
    ...own(tls),
    ...(tls.own === undefined ? {} : { credentials: amqpCredentials.external() }),
  });
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    await channel.assertQueue(QUEUE).catch((error: unknown) => {
      throw String(error).includes('ACCESS_REFUSED') ? new Refused(String(error)) : error;
    });
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** The client for browsers; it takes what is called WebSocket. */
async function amqpWebSocket(port: number, tls: TlsClient, name = 'guest'): Promise<void> {
  const before = (globalThis as { WebSocket?: unknown }).WebSocket;
  class SecureWebSocket extends WebSocket {
    constructor(url: string, protocols: string) {
      super(url, protocols, { ca: tls.ca, ...own(tls) });
    }
  }
  Object.assign(globalThis, { WebSocket: SecureWebSocket });
  try {
    const client = new AMQPWebSocketClient(`wss://localhost:${port}`, '/', name, 'secret');
    client.logger = undefined;
    const connection = await client.connect();
    try {
      const channel = await connection.channel();
      await channel.queueDeclare(QUEUE);
    } catch (error) {
      throw String(error).includes('ACCESS_REFUSED') ? new Refused(String(error)) : error;
    } finally {
      await connection.close().catch(() => undefined);
    }
  } finally {
    Object.assign(globalThis, { WebSocket: before });
  }
}

async function amqpManagement(port: number, tls: TlsClient, name = 'guest'): Promise<void> {
  const answer = await ask(port, tls, {
    method: 'PUT',
    path: `/api/queues/%2F/${QUEUE}`,
    headers: { authorization: `Basic ${Buffer.from(`${name}:secret`).toString('base64')}` },
    body: '{}',
  });
  accepted(answer.status === 201 || answer.status === 204 ? { ...answer, status: 200 } : answer);
}

async function api(port: number, tls: TlsClient): Promise<void> {
  const body = JSON.stringify({ messages: [{ body: 'x' }] });
  const headers = { 'content-type': 'application/json' };
  accepted(await ask(port, tls, { method: 'POST', path: `/api/v1/events/${QUEUE}`, headers, body }));
}

async function sqs(port: number, tls: TlsClient, name = 'alice'): Promise<void> {
  const client = new SQSClient(awsOptions(port, tls, name));
  await aws(client, () => client.send(new CreateQueueCommand({ QueueName: QUEUE })));
}

async function sns(port: number, tls: TlsClient, name = 'alice'): Promise<void> {
  const client = new SNSClient(awsOptions(port, tls, name));
  await aws(client, () => client.send(new CreateTopicCommand({ Name: QUEUE })));
}

/** Every listener of the product that speaks TLS, with every protocol on it. */
export const TLS_ROWS: readonly TlsRow[] = [
  { name: 'native gRPC', listener: 'native-grpc', speak: nativeGrpc, identity: 'certificate' },
  { name: 'native REST', listener: 'native-rest', speak: nativeRest, identity: 'certificate' },
  { name: 'native WebSocket', listener: 'native-rest', speak: nativeWebSocket, identity: 'certificate' },
  { name: 'SQS', listener: 'aws', speak: sqs, identity: 'name' },
  { name: 'SNS', listener: 'aws', speak: sns, identity: 'name' },
  { name: 'Pub/Sub gRPC', listener: 'gcp', speak: pubsubGrpc, identity: 'certificate' },
  { name: 'Pub/Sub REST', listener: 'gcp', speak: pubsubRest, identity: 'certificate' },
  { name: 'Pub/Sub REST, HTTP/2', listener: 'gcp', speak: pubsubRestOverHttp2, identity: 'certificate' },
  { name: 'AMQP', listener: 'amqps', speak: amqps, identity: 'certificate' },
  { name: 'AMQP over WebSocket', listener: 'amqp-websocket', speak: amqpWebSocket, identity: 'name' },
  { name: 'AMQP management', listener: 'amqp-management', speak: amqpManagement, identity: 'name' },
  { name: 'admin API', listener: 'api', speak: api, identity: 'certificate' },
];

/** The SASL mechanisms that AMQP over WebSocket offers a client. */
export function offeredMechanisms(port: number, tls: TlsClient): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://localhost:${port}`, 'amqp', { ca: tls.ca, ...own(tls) });
    socket.on('error', reject);
    socket.on('open', () => socket.send(Buffer.from('AMQP\0\0\x09\x01')));
    socket.on('message', (data: Buffer) => {
      socket.terminate();
      resolve(/PLAIN[ A-Z]*/.exec(data.toString('latin1'))?.[0] ?? '');
    });
  });
}

/** Serial number of the certificate that a listener shows to a new connection. */
export function shownSerial(port: number, tls: TlsClient): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({ host: 'localhost', port, ca: tls.ca, ...own(tls) }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    }).on('error', reject);
  });
}
