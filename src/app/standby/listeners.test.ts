import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { ForwardedConnections } from '../../cluster/connections.js';
import type { Coordinator } from '../../cluster/contract.js';
import { ForwardedSocket } from '../../connectors/kit/forwarded-socket.js';
import { MemoryBus } from '../../../test/support/memory-bus.js';
import { configFrom } from '../read-config.js';
import { Doors } from './doors.js';
import { StandbyListeners } from './listeners.js';
import { STANDBY_LIMITS } from './options.js';

/** A node that owns nothing, beside another that may be the owner. */
class Standby {
  readonly clock = new ManualClock();
  readonly doors = new Doors();
  owner: string | undefined;
  readonly #listeners: StandbyListeners;
  readonly #owner: ForwardedConnections;
  #ports: ReadonlyMap<string, number> = new Map();
  /** Moves time on while a test waits for what real sockets bring. */
  readonly #moving = setInterval(() => this.clock.advance(50), 5);

  constructor() {
    const net = new Map<string, MemoryBus>();
    const connections = (id: string): ForwardedConnections => {
      const owner = (): Promise<{ id: string } | undefined> =>
        Promise.resolve(this.owner === undefined ? undefined : { id: this.owner });
      const coordinator = { self: { id }, owner } as unknown as Coordinator;
      const bus = new MemoryBus({ id }, net);
      return new ForwardedConnections({ coordinator, bus, claim: 'all', clock: this.clock, log: silentLog });
    };
    this.#owner = connections('other');
    this.#listeners = new StandbyListeners({
      config: configFrom({
        host: '127.0.0.1',
        api: { port: 0 },
        grpc: { enable: true, port: 0 },
        rest: { enable: true, port: 0 },
        connectors: {
          aws: { enable: true, port: 0 },
          gcp: { enable: true },
          pubSub: { port: 0 },
          amqp: { enable: true, port: 0 },
        },
      }),
      tls: undefined,
      connections: connections('self'),
      doors: this.doors,
      status: () => ({
        node: 'self',
        members: [{ id: 'self', host: 'h', role: 'standby', epoch: 0, lag: 3 }],
      }),
      hasOwner: () => Promise.resolve(this.owner !== undefined),
      version: '1.2.3',
      clock: this.clock,
      log: silentLog,
    });
  }

  async start(): Promise<void> {
    const bound = await this.#listeners.start();
    this.#ports = new Map(bound.map(({ name, port }) => [name, port]));
  }

  /** The other node serves, each connection with `serve`. */
  serve(serve: (socket: ForwardedSocket, listener: string) => void): void {
    this.owner = 'other';
    this.#owner.serve(
      (head, stream) =>
        new Promise((resolve) => {
          const socket = new ForwardedSocket(stream, head);
          socket.on('error', () => undefined);
          socket.once('close', resolve);
          serve(socket, head.listener);
        }),
    );
  }

  port(listener: string): number {
    return this.#ports.get(listener) ?? 0;
  }

  url(listener: string, path = '/'): string {
    return `http://127.0.0.1:${this.port(listener)}${path}`;
  }

  async dial(listener: string): Promise<Socket> {
    const socket = connect(this.port(listener), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  unbind(): Promise<void> {
    return this.#listeners.unbind();
  }

  async stop(): Promise<void> {
    clearInterval(this.#moving);
    await this.#listeners.stop();
  }
}

let standby: Standby;
async function start(): Promise<Standby> {
  standby = new Standby();
  await standby.start();
  return standby;
}
afterEach(() => standby.stop());

/** What comes until the end. */
async function rest(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

describe('a node that owns nothing', () => {
  it('forwards connections of every listener, and says which', async () => {
    await start();
    standby.serve((socket, listener) => {
      socket.write(`${listener} `);
      socket.pipe(socket);
    });
    for (const listener of ['aws', 'gcp', 'amqp', 'native-grpc', 'native-rest']) {
      const socket = await standby.dial(listener);
      socket.end('hello');
      expect(await rest(socket)).toBe(`${listener} hello`);
    }
  });

  it('brings the last words of a client that leaves at once', async () => {
    await start();
    const heard = new Promise<string>((resolve) => {
      standby.serve((socket) => {
        let text = '';
        socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
        socket.on('end', () => resolve(text));
      });
    });
    const socket = await standby.dial('amqp');
    socket.end('x'.repeat(300_000));
    expect((await heard).length).toBe(300_000);
  });

  it('cuts its clients when the owner is gone', async () => {
    await start();
    const served = new Promise<ForwardedSocket>((resolve) => standby.serve(resolve));
    const socket = await standby.dial('amqp');
    const closed = once(socket, 'close');
    socket.resume();
    (await served).destroy();
    await closed;
  });

  it('tells the owner that its client is gone', async () => {
    await start();
    const closed = new Promise<void>((resolve) => {
      standby.serve((socket) => {
        socket.resume();
        socket.once('close', resolve);
      });
    });
    (await standby.dial('amqp')).resetAndDestroy();
    await closed;
  });

  it('lets clients wait for an owner, for a while', async () => {
    await start();
    const socket = await standby.dial('amqp');
    socket.write('early');
    await new Promise((resolve) => standby.clock.after(STANDBY_LIMITS.holdMs / 2, () => resolve(undefined)));
    standby.serve((far) => far.pipe(far));
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('early');
    socket.destroy();
  });

  it('hands those who waited to its own connectors when it becomes the owner, and gives its ports back', async () => {
    await start();
    const socket = await standby.dial('aws');
    socket.write('early');
    await standby.unbind();
    await expect(standby.dial('aws')).rejects.toThrow('ECONNREFUSED');
    standby.owner = 'self';
    standby.doors.open((listener, own) => {
      own.write(`${listener} `);
      own.pipe(own);
    });
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.endsWith('early')) break;
    }
    expect(text).toBe('aws early');
  });
});

describe('while nobody owns the channels', () => {
  it('AWS clients get 503 in their own protocol', async () => {
    await start();
    const json = await fetch(standby.url('aws'), {
      method: 'POST',
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: '{}',
    });
    expect(json.status).toBe(503);
    expect(await json.json()).toMatchObject({ __type: 'com.amazonaws.sqs#ServiceUnavailable' });
    const query = await fetch(standby.url('aws'), { method: 'POST', body: 'Action=ListQueues' });
    expect(query.status).toBe(503);
    expect(await query.text()).toContain('<Code>ServiceUnavailable</Code>');
  });

  it('gRPC clients get UNAVAILABLE, and REST ones 503', async () => {
    await start();
    for (const listener of ['gcp', 'native-grpc']) {
      const session = connectHttp2(standby.url(listener));
      const stream = session.request({ ':method': 'POST', ':path': '/x/Y' });
      const [headers] = (await once(stream, 'response')) as [Record<string, string>];
      expect(headers['grpc-status']).toBe('14');
      session.close();
    }
    for (const listener of ['gcp', 'native-rest']) {
      const answer = await fetch(standby.url(listener));
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    }
  });

  it('AMQP clients are closed', async () => {
    await start();
    const socket = await standby.dial('amqp');
    socket.write('AMQP\0\0\x09\x01');
    expect(await rest(socket)).toBe('');
  });
});

describe('the API of a node that owns nothing', () => {
  it('tells of itself', async () => {
    await start();
    const health = await fetch(standby.url('api', '/health'));
    expect([health.status, await health.json()]).toEqual([200, { status: 'healthy', version: '1.2.3' }]);
    const status = await (await fetch(standby.url('api', '/api/v1/cluster'))).json();
    expect(status).toMatchObject({ node: 'self' });
    const metrics = await (await fetch(standby.url('api', '/metrics'))).text();
    expect(metrics).toContain('polymq_forwarded_connections_since_start 0');
    expect(metrics).toContain('polymq_cluster_lag_messages{member="self",host="h"} 3');
  });

  it('is ready while there is an owner', async () => {
    await start();
    expect((await fetch(standby.url('api', '/ready'))).status).toBe(503);
    standby.owner = 'other';
    expect((await fetch(standby.url('api', '/ready'))).status).toBe(200);
  });

  it('passes everything else on, whatever it is', async () => {
    await start();
    const { createServer } = await import('node:http');
    const server = createServer((request, response) => {
      response.writeHead(201, {
        'x-seen': `${request.method} ${request.url} ${String(request.headers['x-a'])}`,
      });
      request.pipe(response);
    });
    standby.serve((socket, listener) => {
      expect(listener).toBe('api');
      server.emit('connection', socket);
    });
    for (const body of ['small', 'y'.repeat(500_000)]) {
      const answer = await fetch(standby.url('api', '/api/v1/x?y=z'), {
        method: 'PUT',
        headers: { 'x-a': 'b' },
        body,
      });
      expect([answer.status, answer.headers.get('x-seen')]).toEqual([201, 'PUT /api/v1/x?y=z b']);
      expect(await answer.text()).toBe(body);
    }
  });

  it('says 503 when there is nobody to pass it on to', async () => {
    await start();
    expect((await fetch(standby.url('api', '/api/v1/queues'))).status).toBe(503);
  });
});
