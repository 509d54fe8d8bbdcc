import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startServer, type ServerOptions } from '../support/server.js';

const MEMORY: ServerOptions['config'] = { store: { engine: 'memory' } };
const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ family }) => family === 'IPv6'),
);

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Clients take `localhost` for 127.0.0.1 or for ::1, as their system and their language like it. */
describe('every listener', () => {
  it.skipIf(!hasIpv6)('is there over IPv4 and IPv6 when it binds to `::`', async () => {
    const server = await startServer({ config: { ...MEMORY, host: '::' } });
    for (const { name, port } of server.addresses) {
      for (const host of ['127.0.0.1', '::1', 'localhost']) {
        expect([name, host, await answers(host, port)]).toEqual([name, host, true]);
      }
    }
    await server.stop();
  });

  it('says which address it cannot bind to', async () => {
    for (const host of ['http://localhost', 'localhost:8085', 'nowhere.invalid', '192.0.2.1']) {
      await expect(startServer({ config: { ...MEMORY, host } })).rejects.toThrow(host);
    }
  });
});
