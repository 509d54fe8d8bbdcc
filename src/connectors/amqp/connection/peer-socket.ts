import type { Duplex } from 'node:stream';

/** What a connection reads and writes: a TCP or TLS socket, or a WebSocket in its shape. */
export type PeerSocket = Duplex & {
  /** Octets of AMQP so far, in each direction. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
};
