import type { Socket } from 'node:net';
import type { OpenSession } from './open-session.js';

/** The two ends of a TCP connection. */
export interface ConnectionEnds {
  readonly host: string;
  readonly port: number;
  readonly peerHost: string;
  readonly peerPort: number;
}

/** What can be told of an open connection. */
export interface ConnectionInfo extends ConnectionEnds {
  readonly id: number;
  /** Unix ms. */
  readonly connectedAt: number;
  readonly heartbeatSeconds: number;
  readonly frameMax: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Bytes its socket has not taken yet. */
  readonly sendPending: number;
  /** It is not read for now. */
  readonly blocked: boolean;
  readonly secure: boolean;
  readonly session: OpenSession;
}

export function endsOf(socket: Socket): ConnectionEnds {
  return {
    host: plainAddress(socket.localAddress),
    port: socket.localPort ?? 0,
    peerHost: plainAddress(socket.remoteAddress),
    peerPort: socket.remotePort ?? 0,
  };
}

/** An IPv4 address in IPv6's form is shown as what it is. */
function plainAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:/, '') ?? '';
}
