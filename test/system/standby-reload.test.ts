import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { TestAuthority, writePems } from '../support/certificates.js';
import { temporaryFolder } from '../support/folder.js';
import { natsMissing, startNats, type NatsServers } from '../support/nats-server.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';

const LISTENERS = ['api', 'aws', 'native-grpc'];

describe.skipIf(natsMissing !== undefined || process.platform === 'win32')(
  'certificates of a standby',
  () => {
    const folder = temporaryFolder();
    const nodes: BrokerProcess[] = [];
    let nats: NatsServers;
    let authority: TestAuthority;
    beforeAll(async () => {
      nats = await startNats();
      authority = await TestAuthority.create();
    });
    afterEach(async () => {
      for (const node of nodes.splice(0)) await node.kill();
    });
    afterAll(async () => {
      await nats.stop();
      folder.remove();
    });

    async function start(
      line: 'ready' | 'standby',
      environment: Readonly<Record<string, string>>,
    ): Promise<BrokerProcess> {
      const cluster = { STORE_ENGINE: 'nats', NATS_URL: nats.url, NATS_REPLICAS: '1' };
      const connectors = { CONNECTORS_AWS_ENABLE: 'true', GRPC_ENABLE: 'true' };
      const node = await spawnBroker({
        folder: folder.path,
        line,
        args: [],
        environment: { ...cluster, ...connectors, ...environment },
      });
      nodes.push(node);
      return node;
    }

    /** The certificate that a listener shows. */
    async function shown(node: BrokerProcess, listener: string): Promise<string> {
      const socket = connect({ host: '127.0.0.1', port: node.port(listener), ca: authority.certificate });
      await once(socket, 'secureConnect');
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    }

    it.each([
      ['on SIGHUP', '0'],
      ['when the files change', '1'],
    ])('are read again %s, and clients go on', { timeout: 120_000 }, async (how, autoReload) => {
      const write = async (): Promise<{ readonly certificate: string; readonly key: string }> => {
        const { certificate, key } = await authority.server();
        return writePems(folder.path, { certificate, key });
      };
      const files = await write();
      const environment = {
        NATS_NAME: `reload-${autoReload}`,
        SECURITY_CERT_FILENAME: files.certificate,
        SECURITY_KEY_FILENAME: files.key,
        SECURITY_AUTO_RELOAD: autoReload,
      };
      await start('ready', environment);
      const standby = await start('standby', environment);
      const before = await Promise.all(LISTENERS.map((listener) => shown(standby, listener)));
      await write();
      if (how === 'on SIGHUP') process.kill(standby.pid, 'SIGHUP');
      await vi.waitFor(
        async () => {
          const after = await Promise.all(LISTENERS.map((listener) => shown(standby, listener)));
          expect(after.filter((serial) => before.includes(serial))).toEqual([]);
        },
        { timeout: 30_000, interval: 100 },
      );
      // A pair that does not fit leaves what is in force.
      const now = await shown(standby, 'aws');
      writeFileSync(files.key, 'not a key');
      process.kill(standby.pid, 'SIGHUP');
      await vi.waitFor(() => expect(standby.lines.some(({ level }) => level === 'error')).toBe(true), 30_000);
      expect(await shown(standby, 'aws')).toBe(now);
    });
  },
);
