import { once } from 'node:events';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { RunningBroker } from '../../../src/app/index.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { NativeClient } from '../../support/native-client.js';
import type { StreamEnd, Subscription } from '../../support/native-streams.js';
import { urlOf } from '../../support/server.js';
import { Denied, right, type Kind, type Right } from './policy-cases.js';

const TEXT = 'Error 412: access denied to resource';
/** The refusal as the status of a call, and as what an answer says. */
export const BY_STATUS = { status: 7, text: TEXT };
export const IN_ANSWER = { text: TEXT };
/** Over HTTP: in its status. */
export const BY_HTTP = { status: 403, text: TEXT };

export const queue = (name: string, access: Right['access']): Right => right('Queues', access, name);
export const log = (name: string, access: Right['access']): Right => right('EventsStore', access, name);
export const live = (kind: Kind, name: string, access: Right['access']): Right => right(kind, access, name);
export const as = (text: string): ChannelName => text as ChannelName;

/** Of anything that a call answers: where the contract has an error's text. */
interface Answer {
  readonly Error?: string;
  readonly Results?: readonly Answer[];
}

/** Throws what an answer says of errors; a refusal as `Denied`. */
export function checked<T extends object>(answer: T): T {
  const { Error: own = '', Results = [] } = answer as Answer;
  for (const text of [own, ...Results.map(({ Error: error = '' }) => error)]) {
    // A move says more about it.
    if (text.endsWith(TEXT)) throw new Denied({ text: TEXT });
    // Nobody answers: it was allowed to ask.
    if (text !== '' && !text.startsWith('Error 301')) throw new Error(text);
  }
  return answer;
}

function refused({ code, details }: StreamEnd): never {
  if (code === BY_STATUS.status) throw new Denied({ status: code, text: details });
  throw new Error(`${String(code)} ${details}`);
}

/** The native API over gRPC. */
export class GrpcCalls {
  readonly running: RunningBroker;
  readonly client: NativeClient;

  constructor(running: RunningBroker) {
    this.running = running;
    this.client = new NativeClient(`127.0.0.1:${running.address('native-grpc').port}`, 'somebody');
  }

  async call(name: string, request: object): Promise<object> {
    const answer = await this.client
      .call<object>(name, { ClientID: 'somebody', ...request })
      .catch((error: unknown) => {
        const end = error as StreamEnd;
        // Nobody answers: it was allowed to ask.
        if (end.details.startsWith('Error 301')) return {};
        return refused(end);
      });
    return checked(answer);
  }

  /** Resolves when the subscription is there, and ends it. */
  async subscribed(subscription: Subscription<unknown>, subscribers: () => number): Promise<void> {
    const before = subscribers();
    let end: StreamEnd | undefined;
    void subscription.ended.then((ended) => (end = ended));
    await expect.poll(() => end !== undefined || subscribers() > before).toBe(true);
    if (end !== undefined) refused(end);
    subscription.cancel();
    await expect.poll(subscribers).toBe(before);
  }

  /** Events of one stream, which ends behind them; only those that are refused need an answer. */
  async sendEvents(event: object): Promise<void> {
    const stream = this.client.eventsStream();
    stream.write({ ClientID: 'somebody', EventID: 'e', ...event });
    stream.end();
    const end = await stream.ended;
    if (end.code !== 0) refused(end);
    for (const answer of stream.unsolicited) checked(answer);
  }
}

/** How many listen to a channel. */
export const listeners =
  (running: RunningBroker, kind: 'events' | 'commands' | 'queries', channel: string) => () =>
    running.broker.live.activity(kind).find((one) => one.channel === channel)?.subscribers ?? 0;
export const readers = (running: RunningBroker, channel: string) => () =>
  running.broker.logStats(as(channel))?.subscriptions ?? 0;

/** Resolves when nobody subscribes any more: ends of connections are noticed in their own time. */
export async function unsubscribed({ broker }: RunningBroker): Promise<void> {
  const logs = () => broker.logs('').some((name) => broker.logStats(name)?.subscriptions !== 0);
  await expect.poll(() => broker.live.figures().subscribers > 0 || logs()).toBe(false);
}

/** One call of the REST API. */
export async function rest(
  running: RunningBroker,
  verb: string,
  path: string,
  body?: object,
): Promise<object> {
  const answer = await fetch(`${urlOf(running, 'native-rest')}${path}`, {
    method: verb,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify({ ClientID: 'somebody', ...body }) }),
  });
  const { is_error, message, data } = (await answer.json()) as {
    readonly is_error: boolean;
    readonly message: string;
    readonly data: object | null;
  };
  if (!is_error) return checked(data ?? {});
  if (message.startsWith('Error 301')) return {};
  if (answer.status === 403) throw new Denied({ status: 403, text: message });
  throw new Error(`${answer.status} ${message}`);
}

/** Opens a WebSocket; a refusal comes in the place of the upgrade. */
export async function socket(running: RunningBroker, path: string): Promise<WebSocket> {
  const webSocket = new WebSocket(`${urlOf(running, 'native-rest').replace('http', 'ws')}${path}`);
  const opened = once(webSocket, 'open').then(() => undefined);
  const answered = once(webSocket, 'unexpected-response') as Promise<
    [unknown, AsyncIterable<Buffer> & { statusCode: number }]
  >;
  const response = await Promise.race([opened, answered.then(([, response]) => response)]);
  if (response === undefined) return webSocket;
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const { message } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly message: string };
  if (response.statusCode === 403) throw new Denied({ status: 403, text: message });
  throw new Error(`${response.statusCode} ${message}`);
}

/** The next message of a WebSocket. */
export async function next(webSocket: WebSocket): Promise<object> {
  const [data] = (await once(webSocket, 'message')) as [Buffer];
  return checked(JSON.parse(data.toString()) as object);
}
