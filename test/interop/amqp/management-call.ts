import type { AmqpServer } from './amqp-server.js';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** One request; the body of the answer as JSON, undefined without one. */
export async function call(
  server: AmqpServer,
  method: string,
  path: string,
  ...[input, login = 'guest:guest']: readonly [input?: unknown, login?: string]
): Promise<Answer> {
  const response = await fetch(
    `http://127.0.0.1:${String(server.ports.get('amqp-management'))}/api/${path}`,
    {
      method,
      headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` },
      ...(input === undefined ? {} : { body: JSON.stringify(input) }),
    },
  );
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

export const get = async (server: AmqpServer, path: string): Promise<unknown> =>
  (await call(server, 'GET', path)).body;
