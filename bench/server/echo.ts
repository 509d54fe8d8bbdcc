import { benchModule } from '../harness/paths.js';
import { Child, freePort, listening, SERVER_CORE } from '../harness/process.js';
import type { Contender } from './server.js';

/** Bare servers on the same transports as ours: what the runtime itself allows. */
export const httpEcho: Contender = echo('http-echo', 'server/echo-http.js', 'aws');
export const http2Echo: Contender = echo('http2-echo', 'server/echo-http2.js', 'gcp');

function echo(name: string, module: string, wire: string): Contender {
  return {
    name,
    absent: () => undefined,
    start: async () => {
      const port = await freePort();
      const args = [benchModule(module), String(port)];
      const child = new Child({ command: process.execPath, args, core: SERVER_CORE });
      await listening(port, child);
      return { pid: child.pid, ports: { [wire]: port }, stop: () => child.stop() };
    },
  };
}
