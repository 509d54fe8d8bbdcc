import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { ForwardedSocket } from '../../connectors/kit/forwarded-socket.js';

/** How long the owner may take for what a client sent that is gone. */
const LINGER_MS = 5_000;

/** Makes one connection of a client's socket, paused so far, and its way to the owner: bytes, back-pressure and endings pass in both directions. */
export function join(client: Socket, way: ForwardedSocket, clock: Clock): void {
  client.pipe(way);
  way.pipe(client);
  way.on('error', () => client.destroy());
  way.once('close', () => client.destroySoon());
  client.once('close', (failed: boolean) => {
    if (failed || !way.writableEnded) {
      way.destroy();
      return;
    }
    // A client may send its last words and go: they still get there.
    way.resume();
    const timer = clock.after(LINGER_MS, () => way.destroy());
    way.once('close', () => timer.cancel());
  });
}
