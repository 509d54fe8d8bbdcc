import { execFile } from 'node:child_process';
import { Agent, request } from 'node:https';
import { connect as tlsConnect } from 'node:tls';
import { promisify } from 'node:util';
import { CreateQueueCommand, ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { credentials } from '@grpc/grpc-js';
import { PubSub } from '@google-cloud/pubsub';
import { connect, credentials as amqpCredentials } from 'amqplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { TestAuthority, writePems, type Certificate } from '../../support/certificates.js';
import { temporaryFolder } from '../../support/folder.js';
import { program } from '../../support/foreign.js';
import { NativeClient } from '../../support/native-client.js';
import { startServer } from '../../support/server.js';

const folder = temporaryFolder();
let authority: TestAuthority;
let server: Certificate;
let alice: Certificate;
let files: { readonly certificate: string; readonly key: string; readonly authority: string };

beforeAll(async () => {
  authority = await TestAuthority.create();
  [server, alice] = await Promise.all([authority.server(), authority.client('alice')]);
  files = writePems(folder.path, {
    certificate: server.certificate,
    key: server.key,
    authority: authority.certificate,
  });
});
afterAll(() => folder.remove());

/** Status and body of a GET. */
function get(
  port: number,
  path: string,
  client?: Certificate,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, path, ca: authority.certificate, agent: false };
    const own = client === undefined ? {} : { cert: client.certificate, key: client.key };
    request({ ...options, ...own }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => (body += text));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}

function sqsClient(port: number, client?: Certificate): SQSClient {
  const own = client === undefined ? {} : { cert: client.certificate, key: client.key };
  return new SQSClient({
    endpoint: `https://localhost:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 1,
    requestHandler: { httpsAgent: new Agent({ ca: authority.certificate, ...own }) },
  });
}

function channelCredentials(client?: Certificate) {
  const ca = Buffer.from(authority.certificate);
  return client === undefined
    ? credentials.createSsl(ca)
    : credentials.createSsl(ca, Buffer.from(client.key), Buffer.from(client.certificate));
}

function nativeClient(port: number, client?: Certificate, clientId?: string): NativeClient {
  return new NativeClient(`localhost:${port}`, clientId, { credentials: channelCredentials(client) });
}

/** One round through every protocol, each with its own real client. */
async function talkToAll(running: RunningBroker, client?: Certificate): Promise<void> {
  const sqs = sqsClient(running.address('aws').port, client);
  try {
    await sqs.send(new CreateQueueCommand({ QueueName: 'over-tls' }));
    const { QueueUrls } = await sqs.send(new ListQueuesCommand({}));
    expect(QueueUrls).toEqual([expect.stringMatching(/\/over-tls$/)]);
  } finally {
    sqs.destroy();
  }

  const pubsub = new PubSub({
    projectId: 'p',
    apiEndpoint: `localhost:${running.address('gcp').port}`,
    emulatorMode: false,
    sslCreds: channelCredentials(client),
  });
  try {
    const [topic] = await pubsub.createTopic('over-tls');
    expect(await topic.publishMessage({ data: Buffer.from('x') })).toMatch(/./);
  } finally {
    await pubsub.close();
  }

  const native = nativeClient(running.address('native-grpc').port, client);
  try {
    const sent = await native.send({ Channel: 'over-tls', Body: Buffer.from('x') });
    expect(sent.IsError).toBe(false);
  } finally {
    native.close();
  }

  const own = client === undefined ? {} : { cert: client.certificate, key: client.key };
  const amqp = await connect(`amqps://guest:guest@localhost:${running.address('amqps').port}`, {
    ca: [authority.certificate],
    ...own,
  });
  const channel = await amqp.createChannel();
  expect((await channel.assertQueue('over-tls')).queue).toBe('over-tls');
  await amqp.close();

  expect(await get(running.address('api').port, '/health', client)).toMatchObject({ status: 200 });
  expect(await get(running.address('native-rest').port, '/ping', client)).toMatchObject({ status: 200 });
}

describe('with a certificate', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await startServer({
      config: {
        security: { certFilename: files.certificate, keyFilename: files.key },
        connectors: { amqp: { tlsPort: 0 } },
      },
    });
  });
  afterAll(() => running.stop());

  it('every protocol is spoken with its own client', async () => {
    await talkToAll(running);
  });

  it('plain connections are refused, and AMQP has no plain port', async () => {
    await expect(fetch(`http://127.0.0.1:${running.address('api').port}/health`)).rejects.toThrow();
    await expect(fetch(`http://127.0.0.1:${running.address('aws').port}/`)).rejects.toThrow();
    expect(() => running.address('amqp')).toThrow('no listener amqp');
  });

  it('curl speaks HTTP/1.1 and gets nothing less than TLS 1.2', async (context) => {
    const curl = program('curl');
    if (curl === undefined) return context.skip();
    const url = `https://localhost:${running.address('api').port}/ready`;
    const run = (...args: string[]): Promise<string> =>
      promisify(execFile)(curl, ['-sS', '-m', '10', '--cacert', files.authority, ...args, url]).then(
        ({ stdout }) => stdout,
      );
    expect(JSON.parse(await run())).toMatchObject({ ready: true });
    await expect(run('--tls-max', '1.1')).rejects.toThrow();
  });

  it('h2 is agreed on where gRPC is spoken, and http/1.1 where it is not', async () => {
    const agreed = (name: string): Promise<string | false | null> =>
      new Promise((resolve, reject) => {
        const socket = tlsConnect(
          {
            host: 'localhost',
            port: running.address(name).port,
            ca: authority.certificate,
            ALPNProtocols: ['h2', 'http/1.1'],
          },
          () => {
            resolve(socket.alpnProtocol);
            socket.destroy();
          },
        ).on('error', reject);
      });
    expect(await agreed('native-grpc')).toBe('h2');
    expect(await agreed('gcp')).toBe('h2');
    expect(await agreed('aws')).toBe('http/1.1');
    expect(await agreed('api')).toBe('http/1.1');
  });
});

describe('with a certificate and authorities of clients', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await startServer({
      config: {
        security: {
          certData: Buffer.from(server.certificate).toString('base64'),
          keyData: server.key,
          caFilename: files.authority,
        },
        connectors: { amqp: { tlsPort: 0 } },
      },
    });
  });
  afterAll(() => running.stop());

  it('every protocol is spoken with a client certificate', async () => {
    await talkToAll(running, alice);
  });

  it('the name in the certificate is the ClientID of native clients', async () => {
    const native = nativeClient(running.address('native-grpc').port, alice, 'somebody-else');
    await native.send({ Channel: 'whose', Body: Buffer.from('x') });
    const received = await native.receive('whose');
    expect(received.Messages[0]?.ClientID).toBe('alice');
    native.close();
  });

  it('AMQP takes it as the user of SASL EXTERNAL', async () => {
    const amqp = await connect(`amqps://localhost:${running.address('amqps').port}`, {
      ca: [authority.certificate],
      cert: alice.certificate,
      key: alice.key,
      credentials: amqpCredentials.external(),
    });
    const channel = await amqp.createChannel();
    await channel.assertQueue('whose-amqp');
    channel.sendToQueue('whose-amqp', Buffer.from('x'));
    await new Promise((resolve) => setImmediate(resolve));
    await channel.assertQueue('whose-amqp');
    const [peeked] = await running.broker.peek('amqp.default.whose-amqp' as never, 1);
    expect(peeked?.message.clientId).toBe('alice');
    await amqp.close();
  });
});

describe('with a certificate and plain connections allowed', () => {
  it('both are served on the same port', async () => {
    const running = await startServer({
      config: {
        security: { certData: server.certificate, keyData: server.key, allowPlain: true },
        connectors: { amqp: { tlsPort: 0 } },
      },
    });
    try {
      const { port } = running.address('api');
      expect(await get(port, '/health')).toMatchObject({ status: 200 });
      expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
      expect((await fetch(`http://127.0.0.1:${running.address('aws').port}/`)).status).toBe(404);
      const plain = new NativeClient(`127.0.0.1:${running.address('native-grpc').port}`);
      expect((await plain.call<{ Version: string }>('Ping', {})).Version).toMatch(/^3/);
      plain.close();
      const secure = nativeClient(running.address('native-grpc').port);
      expect((await secure.call<{ Version: string }>('Ping', {})).Version).toMatch(/^3/);
      secure.close();
      await (await connect(`amqp://guest:guest@127.0.0.1:${running.address('amqp').port}`)).close();
    } finally {
      await running.stop();
    }
  });
});
