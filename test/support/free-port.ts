import { createServer, type AddressInfo } from 'node:net';

/** Ports that were free a moment ago, for servers that cannot choose one themselves; no two are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = holders.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(holders.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
