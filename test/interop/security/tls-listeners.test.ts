import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as tcpConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigOverrides, RunningBroker } from '../../../src/app/index.js';
import { TestAuthority, writePems, type Certificate } from '../../support/certificates.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer } from '../../support/server.js';
import { offeredMechanisms, Refused, shownSerial, TLS_ROWS, type TlsClient } from './tls-rows.js';

const folder = temporaryFolder();
let authority: TestAuthority;
let stranger: TestAuthority;
let server: Certificate;
let alice: Certificate;
let bob: Certificate;
beforeAll(async () => {
  [authority, stranger] = await Promise.all([TestAuthority.create(), TestAuthority.create('another')]);
  [server, alice, bob] = await Promise.all([
    authority.server(),
    authority.client('alice'),
    authority.client('bob'),
  ]);
});
afterAll(() => folder.remove());

/** Every listener there is. */
const EVERYTHING = {
  aws: {
    enable: true,
    credentials: ['alice', 'bob'].map((id) => ({ accessKeyId: id, secretAccessKey: 'secret' })),
  },
  amqp: {
    tlsPort: 0,
    webSocketEnable: true,
    webSocketPort: 0,
    managementEnable: true,
    managementPort: 0,
  },
};

type Security = NonNullable<ConfigOverrides['security']>;

function start(security: Security, authorization = {}): Promise<RunningBroker> {
  return startServer({ config: { security, authorization, connectors: EVERYTHING } });
}

const shows = (own?: Certificate): TlsClient => ({ ca: authority.certificate, own });
const rows = TLS_ROWS.map((row) => [row.name, row] as const);
const portOf = (running: RunningBroker, { listener }: { readonly listener: string }): number =>
  running.address(listener).port;

describe('with a certificate', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await start({ certData: server.certificate, keyData: server.key });
  });
  afterAll(() => running.stop());

  it('every listener has a row here', () => {
    expect(running.addresses.map(({ name }) => name).sort()).toEqual(
      [...new Set(TLS_ROWS.map(({ listener }) => listener))].sort(),
    );
  });

  it.each(rows)('%s is spoken', async (_name, row) => {
    await row.speak(portOf(running, row), shows());
  });

  it.each(rows)('%s: a client that believes in another authority leaves', async (_name, row) => {
    await expect(row.speak(portOf(running, row), { ca: stranger.certificate })).rejects.not.toThrow(Refused);
  });

  it.each(rows)('%s: who speaks in the clear is cut off without a word', async (_name, row) => {
    const socket = tcpConnect(portOf(running, row), '127.0.0.1');
    const got: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => got.push(chunk));
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'close');
    // An alert of TLS at the most (RFC 8446, section 6).
    expect(Buffer.concat(got)[0] ?? 0x15).toBe(0x15);
  });
});

/** Rules that allow Alice everything, and nobody else anything. */
const ALICE_ALONE = {
  enable: true,
  policyData: JSON.stringify([
    {
      ClientID: 'alice',
      Channel: '.*',
      Events: true,
      EventsStore: true,
      Queues: true,
      Commands: true,
      Queries: true,
      Read: true,
      Write: true,
    },
  ]),
};
const believing = (): Security => ({
  certData: server.certificate,
  keyData: server.key,
  caData: authority.certificate,
});
const byCertificate = rows.filter(([, { identity }]) => identity === 'certificate');
const byName = rows.filter(([, { identity }]) => identity === 'name');

describe('with a certificate and authorities of clients', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await start(believing(), ALICE_ALONE);
  });
  afterAll(() => running.stop());

  it.each(rows)('%s is spoken with one of theirs', async (_name, row) => {
    await row.speak(portOf(running, row), shows(alice), 'alice');
  });

  it.each(rows)('%s: nobody comes in without one', async (_name, row) => {
    await expect(row.speak(portOf(running, row), shows(), 'alice')).rejects.not.toThrow(Refused);
  });

  it.each(rows)("%s: nobody comes in with one of another's", async (_name, row) => {
    const other = await stranger.client('alice');
    await expect(row.speak(portOf(running, row), shows(other), 'alice')).rejects.not.toThrow(Refused);
  });

  it.each(byCertificate)('%s: the name in the certificate is who it is', async (_name, row) => {
    await expect(row.speak(portOf(running, row), shows(bob))).rejects.toThrow(Refused);
  });

  it.each(byName)('%s: who shows a name is no other by its certificate', async (_name, row) => {
    await expect(row.speak(portOf(running, row), shows(alice), 'bob')).rejects.toThrow(Refused);
    await row.speak(portOf(running, row), shows(bob), 'alice');
  });

  it('AMQP over WebSocket offers EXTERNAL, as AMQP over TLS does', async () => {
    const { port } = running.address('amqp-websocket');
    expect(await offeredMechanisms(port, shows(alice))).toBe('PLAIN AMQPLAIN EXTERNAL');
  });
});

describe('with authorities of clients, whose certificates say nothing of who they are', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await start({ ...believing(), certIdentity: false }, ALICE_ALONE);
  });
  afterAll(() => running.stop());

  it.each(byCertificate)('%s: a client is nobody', async (_name, row) => {
    const spoken = row.speak(portOf(running, row), shows(alice));
    // AMQP does not offer EXTERNAL, and the client ends it.
    if (row.listener === 'amqps') await expect(spoken).rejects.toThrow('SASL');
    else await expect(spoken).rejects.toThrow(Refused);
  });
});

describe('with certificates of clients that may be absent', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await start({ ...believing(), clientCert: 'optional' }, ALICE_ALONE);
  });
  afterAll(() => running.stop());

  it.each(byCertificate)('%s: nobody is who has none, or one of another authority', async (_name, row) => {
    const port = portOf(running, row);
    const other = await stranger.client('alice');
    await row.speak(port, shows(alice));
    await expect(row.speak(port, shows())).rejects.toThrow(Refused);
    const spoken = row.speak(port, shows(other));
    if (row.listener === 'amqps') await expect(spoken).rejects.toThrow('SASL');
    else await expect(spoken).rejects.toThrow(Refused);
  });
});

describe('when files are replaced', () => {
  let files: { readonly certificate: string; readonly key: string; readonly authority: string };
  let running: RunningBroker;
  const listeners = [...new Set(TLS_ROWS.map(({ listener }) => listener))];
  beforeAll(async () => {
    const { certificate, key } = server;
    files = writePems(folder.path, { certificate, key, authority: authority.certificate });
    running = await start({
      certFilename: files.certificate,
      keyFilename: files.key,
      caFilename: files.authority,
      autoReload: 0,
    });
  });
  afterAll(() => running.stop());

  it('every listener shows the new certificate to new connections, and keeps the old ones', async () => {
    const client = shows(alice);
    const serials = (): Promise<readonly string[]> =>
      Promise.all(listeners.map((name) => shownSerial(running.address(name).port, client)));
    const [before = '', ...rest] = await serials();
    expect(rest).toEqual(rest.map(() => before));
    const open = listeners.map((name) =>
      tlsConnect({
        host: 'localhost',
        port: running.address(name).port,
        ca: client.ca,
        cert: alice.certificate,
        key: alice.key,
      }),
    );
    await Promise.all(open.map((socket) => once(socket, 'secureConnect')));

    const fresh = await authority.server();
    writeFileSync(files.certificate, fresh.certificate);
    running.reload();
    // The key does not fit yet.
    expect(await serials()).toEqual(listeners.map(() => before));
    writeFileSync(files.key, fresh.key);
    running.reload();
    const after = await serials();
    expect(after).not.toContain(before);
    expect(new Set(after).size).toBe(1);
    expect(open.filter(({ closed }) => closed)).toEqual([]);
    for (const socket of open) socket.destroy();
  });

  it('every listener believes in the new authority of clients, and no longer in the old one', async () => {
    const other = await stranger.client('alice');
    const ofNew = { ca: authority.certificate, own: other };
    const sessions = await Promise.all(listeners.map((name) => sessionWith(running.address(name).port)));
    writeFileSync(files.authority, stranger.certificate);
    running.reload();
    for (const row of TLS_ROWS) {
      await row.speak(portOf(running, row), ofNew, 'alice');
      await expect(row.speak(portOf(running, row), shows(alice), 'alice'), row.name).rejects.not.toThrow(
        Refused,
      );
    }
    // A session of before would be one without a look at the certificate.
    const resumed = listeners.map((name, i) => isResumed(running.address(name).port, sessions[i]));
    expect(await Promise.all(resumed)).toEqual(listeners.map(() => false));
  });

  /** The ticket of a session that began with Alice's certificate; it can be resumed while nothing changes. */
  async function sessionWith(port: number): Promise<Buffer> {
    const socket = tlsConnect({
      host: 'localhost',
      port,
      ca: authority.certificate,
      cert: alice.certificate,
      key: alice.key,
    });
    const [session] = (await once(socket, 'session')) as [Buffer];
    socket.destroy();
    expect(await isResumed(port, session)).toBe(true);
    return session;
  }

  async function isResumed(port: number, session: Buffer | undefined): Promise<boolean> {
    const socket = tlsConnect({ host: 'localhost', port, ca: authority.certificate, session });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    const isReused = socket.isSessionReused();
    socket.destroy();
    return isReused;
  }
});

describe('with a certificate and plain connections allowed', () => {
  let running: RunningBroker;
  beforeAll(async () => {
    running = await start({ certData: server.certificate, keyData: server.key, allowPlain: true });
  });
  afterAll(() => running.stop());

  it.each(rows)('%s is spoken over TLS all the same', async (_name, row) => {
    await row.speak(portOf(running, row), shows());
  });

  it.each(['native-rest', 'aws', 'gcp', 'amqp-websocket', 'amqp-management', 'api'])(
    '%s answers in the clear, too',
    async (name) => {
      const answer = await fetch(`http://127.0.0.1:${running.address(name).port}/`);
      expect(answer.status).toBeGreaterThanOrEqual(200);
    },
  );
});
