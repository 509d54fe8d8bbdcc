import { afterAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { CONFIRMED_EVENTS } from '../../../src/connectors/native/grpc/api.js';
import { ROUTES } from '../../../src/connectors/native/rest/routes.js';
import { StreamRequestType } from '../../../src/connectors/native/wire/messages.js';
import {
  as,
  BY_HTTP,
  IN_ANSWER,
  live,
  log,
  next,
  queue,
  rest,
  socket,
  unsubscribed,
} from './native-calls.js';
import { nativeRows } from './native-rows.js';
import { testCases, testComplete, useRuledServer, type PolicyCase, type Right } from './policy-cases.js';

const server = useRuledServer();
const sockets: WebSocket[] = [];
afterAll(() => {
  for (const webSocket of sockets) webSocket.terminate();
});

async function open(path: string): Promise<WebSocket> {
  const webSocket = await socket(server().running, path);
  sockets.push(webSocket);
  return webSocket;
}
function say(webSocket: WebSocket, request: object): Promise<object> {
  const answer = next(webSocket);
  webSocket.send(JSON.stringify({ ClientID: 'somebody', ...request }));
  return answer;
}

/** The same operations as over gRPC, each by the route that leads to it. */
const UNARY = nativeRows(
  server,
  (operation, request) => {
    const route = ROUTES.find((one) => one.operation === operation);
    if (route === undefined) throw new Error(`no route to ${operation}`);
    const named = (request as { readonly QueueName?: string }).QueueName;
    const query = named === undefined ? '' : `?queue_name=${named}`;
    return rest(server().running, route.verb, route.path + query, route.verb === 'GET' ? undefined : request);
  },
  'eA==',
);

const subscription = (
  operation: string,
  path: string,
  type: string,
  needs: readonly Right[],
): PolicyCase => ({
  operation,
  what: type,
  needs,
  prepare: async () => {
    await server().running.broker.change([{ do: 'create-log', channel: as('s'), ifMissing: true }]);
  },
  run: async () => {
    const stored = type === 'events_store' ? '&events_store_type_data=2' : '';
    const query = `client_id=somebody&channel=s&subscribe_type=${type}${stored}`;
    (await open(`${path}?${query}`)).terminate();
    await unsubscribed(server().running);
  },
});
const event = { Channel: 's', Body: 'eA==' };

let held: WebSocket;
let sequence = '';
async function holding(): Promise<void> {
  const { broker } = server().running;
  for (const name of ['held', 'missing']) await broker.change([{ do: 'delete-queue', channel: as(name) }]);
  await broker.change([{ do: 'create-queue', channel: as('held') }]);
  await broker.send([{ channel: as('held'), body: Buffer.from('x') }]);
  held = await open('/queue/stream');
  const received = { StreamRequestTypeData: 1, Channel: 'held', WaitTimeSeconds: 1 };
  const answer = (await say(held, received)) as {
    readonly Message: { readonly Attributes: { readonly Sequence: string } };
  };
  sequence = answer.Message.Attributes.Sequence;
}
const streamRow = (
  type: keyof typeof StreamRequestType,
  needs: readonly Right[],
  more: object = {},
): PolicyCase => ({
  operation: 'StreamQueueMessage',
  what: type,
  needs,
  prepare: holding,
  run: () =>
    say(held, { StreamRequestTypeData: StreamRequestType[type], RefSequence: Number(sequence), ...more }),
});

const SOCKETS: readonly PolicyCase[] = [
  {
    operation: CONFIRMED_EVENTS,
    needs: [live('Events', 's', 'Write')],
    run: async () => say(await open('/send/stream'), event),
  },
  {
    operation: CONFIRMED_EVENTS,
    what: 'stored',
    needs: [log('s', 'Write')],
    run: async () => say(await open('/send/stream'), { ...event, Store: true }),
  },
  {
    operation: 'StreamQueueMessage',
    what: 'receiveMessage',
    needs: [queue('held', 'Read')],
    prepare: async () => {
      await holding();
      // It goes back, for who receives next.
      held.terminate();
    },
    run: async () => {
      const request = { StreamRequestTypeData: 1, Channel: 'held', WaitTimeSeconds: 5 };
      return say(await open('/queue/stream'), request);
    },
  },
  streamRow('ackMessage', [queue('held', 'Read')]),
  streamRow('rejectMessage', [queue('held', 'Read')]),
  streamRow('modifyVisibility', [queue('held', 'Read')], { VisibilitySeconds: 30 }),
  streamRow('resendMessage', [queue('held', 'Read'), queue('missing', 'Write')], { Channel: 'missing' }),
  streamRow('sendModifiedMessage', [queue('held', 'Read'), queue('missing', 'Write')], {
    ModifiedMessage: { ClientID: 'somebody', Channel: 'missing', Body: 'eA==' },
  }),
  subscription('SubscribeToEvents', '/subscribe/events', 'events', [live('Events', 's', 'Read')]),
  subscription('SubscribeToEvents', '/subscribe/events', 'events_store', [log('s', 'Read')]),
  subscription('SubscribeToRequests', '/subscribe/requests', 'commands', [live('Commands', 's', 'Read')]),
  subscription('SubscribeToRequests', '/subscribe/requests', 'queries', [live('Queries', 's', 'Read')]),
];

const ROWS = [...UNARY, ...SOCKETS];
const inAnswers =
  /^(SendQueueMessage.*|ReceiveQueueMessages|AckAllQueueMessages|StreamQueueMessage|SendEventsStream.*)$/;

describe('the native API over REST and WebSockets', () => {
  testComplete(
    ROWS,
    ROUTES.map(({ operation }) => operation),
  );
  testCases(server, ROWS, (operation) => (inAnswers.test(operation) ? IN_ANSWER : BY_HTTP));

  it('every kind of subscription has a row', () => {
    const types = ROUTES.flatMap((route) => ('types' in route ? Object.keys(route.types) : []));
    const rows = SOCKETS.filter(({ operation }) => operation.startsWith('SubscribeTo'));
    expect(rows.map(({ what }) => what).sort()).toEqual(types.sort());
  });
});
