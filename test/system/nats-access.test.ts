import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credsAuthenticator, nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startPolymq, type ConfigOverrides, type RunningBroker } from '../../src/app/index.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import { TestAuthority, writePems } from '../support/certificates.js';
import { temporaryFolder } from '../support/folder.js';
import { createOperator } from '../support/nats-accounts.js';
import { natsMissing, startNats, type NatsOptions, type NatsServers } from '../support/nats-server.js';

type NatsAccess = NonNullable<ConfigOverrides['nats']>;

/** How a server asks who is there, what answers it, and what does not. */
interface Case {
  readonly server: NatsOptions;
  readonly good: NatsAccess;
  readonly bad: NatsAccess;
}

describe.skipIf(natsMissing !== undefined)('a node and NATS servers that let not everybody in', () => {
  const folder = temporaryFolder();
  let authority: TestAuthority;
  let nats: NatsServers | undefined;
  let broker: RunningBroker | undefined;
  beforeAll(async () => {
    authority = await TestAuthority.create();
  });
  afterEach(async () => {
    await broker?.stop(0);
    await nats?.stop();
    broker = undefined;
    nats = undefined;
  });
  afterAll(() => folder.remove());

  function file(name: string, text: string): string {
    const path = join(folder.path, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  function start(access: NatsAccess): Promise<RunningBroker> {
    return startPolymq({
      config: {
        host: '127.0.0.1',
        api: { port: 0 },
        grpc: { enable: false },
        rest: { enable: false },
        store: { engine: 'nats' },
        nats: { url: nats?.url ?? '', replicas: 1, ...access },
      },
    });
  }

  async function check({ server, good, bad }: Case): Promise<void> {
    nats = await startNats(server);
    await expect(start(bad)).rejects.toThrow(/no NATS server of .* can be used/);
    broker = await start(good);
    const channel = 'orders' as ChannelName;
    await broker.broker.change([{ do: 'create-queue', channel }]);
    await broker.broker.send([{ channel, body: Buffer.from('kept') }]);
    await broker.stop(0);
    broker = await start(good);
    const [found] = await broker.broker.peek(channel, 1);
    expect(Buffer.from(found?.message.body ?? []).toString()).toBe('kept');
  }

  it('by user and password', () =>
    check({
      server: {
        config: 'authorization { user: poly, password: secret }',
        client: { user: 'poly', pass: 'secret' },
      },
      good: { user: 'poly', password: 'secret' },
      bad: { user: 'poly', password: 'wrong' },
    }));

  it('by token', () =>
    check({
      server: { config: 'authorization { token: secret }', client: { token: 'secret' } },
      good: { token: 'secret' },
      bad: {},
    }));

  it('by NKey', () => {
    const [user, other] = [nkeys.createUser(), nkeys.createUser()];
    const seedOf = (pair: typeof user): string => Buffer.from(pair.getSeed()).toString();
    return check({
      server: {
        config: `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`,
        client: { authenticator: nkeyAuthenticator(user.getSeed()) },
      },
      good: { nkeyFilename: file('user.nk', `${seedOf(user)}\n`) },
      bad: { nkeyFilename: file('other.nk', seedOf(other)) },
    });
  });

  it('by credentials file', () => {
    const { config, credentials } = createOperator();
    return check({
      server: { config, client: { authenticator: credsAuthenticator(Buffer.from(credentials)) } },
      good: { credentialsFilename: file('good.creds', credentials) },
      bad: { credentialsFilename: file('bad.creds', createOperator().credentials) },
    });
  });

  it('over TLS, by an authority of one’s own', async () => {
    const { certificate: cert, key } = await authority.server();
    const { ca, ...own } = writePems(folder.path, { ca: authority.certificate, cert, key });
    const stranger = await TestAuthority.create('stranger');
    const { other } = writePems(folder.path, { other: stranger.certificate });
    await check({
      server: {
        config: `tls { cert_file: "${own.cert}", key_file: "${own.key}" }`,
        client: { tls: { caFile: ca } },
      },
      good: { caFilename: ca },
      bad: { caFilename: other },
    });
  });

  it('over TLS, with a certificate of the node', async () => {
    const server = await authority.server();
    const client = await authority.client('polymq');
    const paths = writePems(folder.path, {
      ca: authority.certificate,
      serverCert: server.certificate,
      serverKey: server.key,
      clientCert: client.certificate,
      clientKey: client.key,
    });
    const { ca, clientCert, clientKey } = paths;
    await check({
      server: {
        config: `tls { cert_file: "${paths.serverCert}", key_file: "${paths.serverKey}", ca_file: "${ca}", verify: true }`,
        client: { tls: { caFile: ca, certFile: clientCert, keyFile: clientKey } },
      },
      good: { caFilename: ca, certFilename: clientCert, keyFilename: clientKey },
      bad: { caFilename: ca },
    });
  });

  it('says which file cannot be read', async () => {
    nats = await startNats();
    await expect(start({ credentialsFilename: '/nowhere/x.creds' })).rejects.toThrow(/\/nowhere\/x\.creds/);
  });
});
