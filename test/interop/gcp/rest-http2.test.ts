import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { urlOf, useServer } from '../../support/server.js';
import { connectClients, PROJECT, type Clients } from './clients.js';

interface Reply {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: string;
}

const PUBLISH_MAX = 100_000;

describe('REST over HTTP/2 with prior knowledge', () => {
  const server = useServer({
    connectors: ['gcp'],
    config: { store: { engine: 'memory' }, connectors: { pubSub: { maxMessageBytes: PUBLISH_MAX } } },
  });
  let session: ClientHttp2Session;
  let clients: Clients;
  beforeAll(() => {
    session = connect(urlOf(server(), 'gcp'));
    clients = connectClients(server().address('gcp').port);
  });
  afterAll(async () => {
    session.close();
    await clients.close();
  });

  const open = (method: string, path: string, more: Record<string, string> = {}): ClientHttp2Stream =>
    session.request({ ':method': method, ':path': path, ...more });
  const reply = (stream: ClientHttp2Stream): Promise<Reply> =>
    new Promise((resolve, reject) => {
      let headers: Record<string, unknown> = {};
      let text = '';
      stream.on('response', (fields) => (headers = fields));
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      stream.on('error', reject);
      stream.on('end', () => resolve({ status: Number(headers[':status']), headers, text }));
    });
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const stream = open(method, path, { 'content-type': 'application/json' });
    const answered = reply(stream);
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    return answered;
  };
  const at = (path: string): string => `/v1/projects/${PROJECT}/${path}`;

  it('serves the same calls as over HTTP/1.1, on one connection with each other', async () => {
    expect(await call('GET', '/')).toMatchObject({ status: 200, text: 'Ok\n' });
    expect((await call('PUT', at('topics/top'), {})).status).toBe(200);
    const topic = `projects/${PROJECT}/topics/top`;
    expect((await call('PUT', at('subscriptions/sub'), { topic })).status).toBe(200);
    const messages = (text: string) => ({ messages: [{ data: Buffer.from(text).toString('base64') }] });
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((text) => call('POST', at('topics/top:publish'), messages(text))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [pulled] = await clients.subscriber.pull({
      subscription: `projects/${PROJECT}/subscriptions/sub`,
      maxMessages: 10,
    });
    const texts = pulled.receivedMessages?.map(({ message }) => String(message?.data)) ?? [];
    expect(texts.sort()).toEqual(['a', 'b', 'c']);
    const listed = await call('GET', at('topics?pageSize=1'));
    expect(JSON.parse(listed.text)).toMatchObject({ topics: [{ name: topic }] });
    expect(listed.headers['content-length']).toBe(String(listed.text.length));
  });

  it('answers with the error envelope, and HEAD without a body', async () => {
    const missing = await call('GET', at('topics/missing'));
    expect([missing.status, JSON.parse(missing.text)]).toMatchObject([
      404,
      { error: { status: 'NOT_FOUND' } },
    ]);
    expect((await call('PUT', at('topics/bad'), { nonsense: 1 })).status).toBe(400);
    const broken = open('PUT', at('topics/bad'));
    const answered = reply(broken);
    broken.end('{');
    expect((await answered).status).toBe(400);
    expect(await call('HEAD', '/')).toMatchObject({ status: 200, text: '' });
  });

  it('takes bodies that come in pieces and compressed, and none that are too large', async () => {
    await call('PUT', at('topics/pieces'), {});
    const body = JSON.stringify({
      messages: [{ data: Buffer.alloc(PUBLISH_MAX / 2, 'x').toString('base64') }],
    });
    const plain = open('POST', at('topics/pieces:publish'));
    const first = reply(plain);
    for (let i = 0; i < body.length; i += 9_999) plain.write(body.slice(i, i + 9_999));
    plain.end();
    expect((await first).status).toBe(200);
    const packed = open('POST', at('topics/pieces:publish'), { 'content-encoding': 'gzip' });
    const second = reply(packed);
    packed.end(gzipSync(body));
    expect((await second).status).toBe(200);
    // The body's own limit is far above what a publish may have.
    const large = open('POST', at('topics/pieces:publish'));
    const third = reply(large);
    large.end(Buffer.alloc(4 * 1024 * 1024, '{'));
    const refused = await third.catch(() => undefined);
    if (refused !== undefined) expect(refused.text).toContain('exceeds the limit');
    expect((await call('GET', '/')).status).toBe(200);
  });

  it('lets go of a Pull that its client gave up', async () => {
    const topic = `projects/${PROJECT}/topics/waiting`;
    await call('PUT', at('topics/waiting'), {});
    await call('PUT', at('subscriptions/waiting'), { topic });
    const pull = open('POST', at('subscriptions/waiting:pull'));
    pull.on('error', () => undefined);
    const closed = new Promise((resolve) => pull.on('close', resolve));
    pull.end(JSON.stringify({ maxMessages: 1 }));
    // It is served before what comes behind it on the connection.
    await call('GET', '/');
    pull.close(constants.NGHTTP2_CANCEL);
    await closed;
    await call('GET', '/');
    await call('POST', at('topics/waiting:publish'), { messages: [{ data: 'aGk=' }] });
    const again = await call('POST', at('subscriptions/waiting:pull'), { maxMessages: 1 });
    expect(JSON.parse(again.text)).toMatchObject({ receivedMessages: [{ message: { data: 'aGk=' } }] });
  });
});
