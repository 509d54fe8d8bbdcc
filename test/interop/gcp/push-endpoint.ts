import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PushedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The wrapped message. */
  readonly json: {
    readonly message: { readonly data?: string; readonly messageId: string; readonly orderingKey?: string };
    readonly subscription: string;
    readonly deliveryAttempt?: number;
  };
  readonly text: string;
}

/** A web server that push subscriptions call. `answer` says what each request gets: a status, or nothing at all. */
export class PushEndpoint {
  readonly requests: PushedRequest[] = [];
  readonly #server: Server;
  answer: (request: PushedRequest, index: number) => number | Promise<number> = () => 204;
  open = 0;
  openMost = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => void this.#take(request.headers, Buffer.concat(chunks), response));
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/push`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): Promise<void> {
    const isJson = headers['content-type'] === 'application/json';
    const json = (isJson ? JSON.parse(String(body)) : {}) as PushedRequest['json'];
    const text = isJson ? Buffer.from(json.message.data ?? '', 'base64').toString() : String(body);
    const request = { headers, body, json, text };
    this.requests.push(request);
    this.openMost = Math.max(this.openMost, ++this.open);
    const status = await this.answer(request, this.requests.length - 1);
    this.open--;
    if (status === 102) {
      response.writeProcessing();
      return;
    }
    response.writeHead(status).end();
  }
}
