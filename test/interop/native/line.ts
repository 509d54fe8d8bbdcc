import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A network line to a port that can be cut. */
export interface Line {
  readonly address: string;
  /** Both ends lose the connection without a word. */
  cut(): void;
}

export async function lineTo(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    cut: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
