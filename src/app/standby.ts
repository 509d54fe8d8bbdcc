import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Address } from '../connectors/kit/connector.js';
import type { ClusterStatus } from '../ops/cluster-status.js';
import type { Config } from './settings.js';

const TEXT = 'this node is a standby: another one serves';
const GRPC_UNAVAILABLE = '14';

/**
 * The ports of a node that waits: each answers what its clients try again. HTTP gets 503, gRPC UNAVAILABLE, AMQP a closed
 * connection; `/health` is well and `/ready` is not.
 */
export class StandbyListeners {
  readonly #config: Config;
  readonly #status: () => ClusterStatus;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(config: Config, status: () => ClusterStatus) {
    this.#config = config;
    this.#status = status;
  }

  async start(): Promise<readonly Address[]> {
    const { api, grpc, connectors, authentication } = this.#config;
    // Nobody can be asked here who he is.
    const tellsStatus = !authentication.enable;
    const { aws, gcp, pubSub, amqp } = connectors;
    const wanted: readonly (readonly [name: string, on: boolean, port: number, make: () => Server])[] = [
      ['api', true, api.port, () => apiServer(tellsStatus ? this.#status : undefined)],
      ['native-grpc', grpc.enable, grpc.port, grpcServer],
      ['aws', aws.enable, aws.port, awsServer],
      ['gcp', gcp.enable, pubSub.port, grpcServer],
      ['amqp', amqp.enable, amqp.port, () => createTcpServer((socket) => socket.destroy())],
    ];
    const addresses: Address[] = [];
    for (const [name, on, port, make] of wanted) {
      if (!on) continue;
      addresses.push({ name, host: this.#config.host, port: await this.#listen(make(), port) });
    }
    return addresses;
  }

  async stop(): Promise<void> {
    const closed = this.#servers
      .splice(0)
      .map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #listen(server: Server, port: number): Promise<number> {
    this.#servers.push(server);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => this.#sockets.delete(socket));
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, this.#config.host, () => {
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }
}

function apiServer(status: (() => ClusterStatus) | undefined): Server {
  return createHttpServer((request, response) => {
    const answer = (code: number, body: unknown): void => {
      response.writeHead(code, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end(JSON.stringify(body));
    };
    if (request.url === '/health') answer(200, { status: 'ok' });
    else if (request.url === '/api/v1/cluster' && status !== undefined) answer(200, status());
    else answer(503, { ready: false, phase: 'standby', reasons: [TEXT], message: TEXT });
  });
}

function awsServer(): Server {
  return createHttpServer((request, response) => {
    request.resume();
    const isJson = request.headers['content-type']?.startsWith('application/x-amz-json') === true;
    response.writeHead(503, {
      'content-type': isJson ? 'application/x-amz-json-1.0' : 'text/xml',
      'retry-after': '1',
    });
    response.end(
      isJson
        ? JSON.stringify({ __type: 'com.amazonaws.sqs#ServiceUnavailable', message: TEXT })
        : `<ErrorResponse><Error><Type>Receiver</Type><Code>ServiceUnavailable</Code><Message>${TEXT}</Message></Error></ErrorResponse>`,
    );
  });
}

function grpcServer(): Server {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.on('error', () => stream.destroy());
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': GRPC_UNAVAILABLE,
        'grpc-message': TEXT,
      },
      { endStream: true },
    );
  });
  server.on('unknownProtocol', (socket: Socket) => {
    socket.end(
      'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    );
  });
  return server;
}
