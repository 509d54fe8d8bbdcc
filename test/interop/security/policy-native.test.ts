import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  MANAGEMENT_CHANNEL,
  MANAGEMENT_REQUESTS,
} from '../../../src/connectors/native/operations/manage-channels.js';
import { CHANNEL_TYPES } from '../../../src/connectors/native/operations/channel-types.js';
import { DownstreamType, StreamRequestType } from '../../../src/connectors/native/wire/messages.js';
import type { DownstreamStream, Stream } from '../../support/native-streams.js';
import type { StreamRequest, StreamResponse } from '../../support/native-shapes.js';
import {
  as,
  BY_STATUS,
  checked,
  GrpcCalls,
  IN_ANSWER,
  listeners,
  live,
  log,
  queue,
  readers,
} from './native-calls.js';
import {
  Denied,
  testCases,
  testComplete,
  useRuledServer,
  type PolicyCase,
  type Right,
} from './policy-cases.js';
import { nativeRows } from './native-rows.js';

const server = useRuledServer();
let calls: GrpcCalls;
const streams: { cancel(): void }[] = [];
beforeAll(() => {
  calls = new GrpcCalls(server().running);
});
afterAll(() => {
  for (const stream of streams) stream.cancel();
  calls.client.close();
});

const change = (...changes: Parameters<GrpcCalls['running']['broker']['change']>[0]) =>
  server().running.broker.change(changes);
const makeQueue = (name: string) => change({ do: 'create-queue', channel: as(name), ifMissing: true });
const removeQueue = (name: string) => change({ do: 'delete-queue', channel: as(name) });
async function withMessage(name: string): Promise<void> {
  await removeQueue(name);
  await makeQueue(name);
  await server().running.broker.send([{ channel: as(name), body: Buffer.from('x') }]);
}

const EVENT = { Body: Buffer.from('x') };
const streamed: readonly PolicyCase[] = [
  {
    operation: 'SendEventsStream',
    needs: [live('Events', 'e', 'Write')],
    run: () => calls.sendEvents({ Channel: 'e', ...EVENT }),
  },
  {
    operation: 'SendEventsStream',
    what: 'stored',
    needs: [log('l', 'Write')],
    run: () => calls.sendEvents({ Channel: 'l', Store: true, ...EVENT }),
  },
  {
    operation: 'SubscribeToEvents',
    needs: [live('Events', 'e', 'Read')],
    run: () =>
      calls.subscribed(calls.client.listen({ Channel: 'e' }), listeners(server().running, 'events', 'e')),
  },
  {
    operation: 'SubscribeToEvents',
    what: 'by a pattern',
    needs: [live('Events', 'e.*', 'Read')],
    run: () =>
      calls.subscribed(
        calls.client.listen({ Channel: 'e.*' }),
        () => server().running.broker.live.figures().subscribers,
      ),
  },
  ...['', 'group'].map((Group) => ({
    operation: 'SubscribeToEvents',
    what: `stored${Group}`,
    needs: [log('l', 'Read')],
    prepare: () => change({ do: 'create-log', channel: as('l'), ifMissing: true }).then(() => undefined),
    run: () =>
      calls.subscribed(calls.client.subscribe({ Channel: 'l', Group }), readers(server().running, 'l')),
  })),
  ...(['Commands', 'Queries'] as const).map((kind, i) => ({
    operation: 'SubscribeToRequests',
    what: kind,
    needs: [live(kind, 'r', 'Read')],
    run: () =>
      calls.subscribed(
        calls.client.serve({ Channel: 'r', SubscribeTypeData: 3 + i }),
        listeners(server().running, i === 0 ? 'commands' : 'queries', 'r'),
      ),
  })),
  {
    operation: 'QueuesUpstream',
    needs: [queue('q', 'Write')],
    run: async () => {
      const stream = calls.client.upstream();
      checked(await stream.request({ Messages: [{ ClientID: 'somebody', Channel: 'q', ...EVENT }] }));
      stream.end();
    },
  },
];

let downstream: DownstreamStream;
let transaction = '';
let sequence = '';
async function holding(): Promise<void> {
  await withMessage('held');
  downstream = calls.client.downstream();
  streams.push(downstream);
  const { TransactionId, Messages } = await downstream.get('held');
  transaction = TransactionId;
  sequence = Messages[0]?.Attributes.Sequence ?? '';
}
function downstreamRow(
  type: keyof typeof DownstreamType,
  needs: readonly Right[],
  more: object = {},
): PolicyCase {
  return {
    operation: 'QueuesDownstream',
    what: type,
    needs,
    prepare: async () => {
      await removeQueue('missing');
      await holding();
    },
    run: async () =>
      checked(
        await downstream.settle(DownstreamType[type], transaction, { SequenceRange: [sequence], ...more }),
      ),
  };
}
const DOWNSTREAM: readonly PolicyCase[] = [
  {
    operation: 'QueuesDownstream',
    what: 'get',
    needs: [queue('held', 'Read')],
    prepare: () => withMessage('held'),
    run: async () => {
      const stream = calls.client.downstream();
      streams.push(stream);
      checked(await stream.get('held', { AutoAck: true }));
    },
  },
  downstreamRow('ackAll', [queue('held', 'Read')]),
  downstreamRow('ackRange', [queue('held', 'Read')]),
  downstreamRow('nackAll', [queue('held', 'Read')]),
  downstreamRow('nackRange', [queue('held', 'Read')]),
  ...(['reQueueAll', 'reQueueRange'] as const).map((type) =>
    downstreamRow(type, [queue('held', 'Read'), queue('missing', 'Write')], {
      ReQueueChannel: 'missing',
    }),
  ),
  downstreamRow('activeOffsets', []),
  downstreamRow('transactionStatus', []),
  {
    ...downstreamRow('closeByClient', []),
    run: () => {
      downstream.write({ RequestTypeData: DownstreamType.closeByClient });
      return Promise.resolve();
    },
  },
];

let stream: Stream<StreamRequest, StreamResponse>;
async function streaming(): Promise<void> {
  await withMessage('held');
  stream = calls.client.streamQueueMessage();
  streams.push(stream);
  const { Message } = await stream.request({
    StreamRequestTypeData: 1,
    ClientID: 'somebody',
    Channel: 'held',
    WaitTimeSeconds: 1,
  });
  sequence = Message?.Attributes.Sequence ?? '';
}
function streamRow(
  type: keyof typeof StreamRequestType,
  needs: readonly Right[],
  more: object = {},
): PolicyCase {
  return {
    operation: 'StreamQueueMessage',
    what: type,
    needs,
    prepare: async () => {
      await removeQueue('missing');
      await streaming();
    },
    run: async () =>
      checked(
        await stream.request({
          ClientID: 'somebody',
          StreamRequestTypeData: StreamRequestType[type],
          RefSequence: sequence,
          ...more,
        }),
      ),
  };
}
const STREAM: readonly PolicyCase[] = [
  {
    operation: 'StreamQueueMessage',
    what: 'receiveMessage',
    needs: [queue('held', 'Read')],
    prepare: () => withMessage('held'),
    run: async () => {
      const open = calls.client.streamQueueMessage();
      streams.push(open);
      checked(await open.request({ StreamRequestTypeData: 1, ClientID: 'somebody', Channel: 'held' }));
    },
  },
  streamRow('ackMessage', [queue('held', 'Read')]),
  streamRow('rejectMessage', [queue('held', 'Read')]),
  streamRow('modifyVisibility', [queue('held', 'Read')], { VisibilitySeconds: 30 }),
  streamRow('resendMessage', [queue('held', 'Read'), queue('missing', 'Write')], { Channel: 'missing' }),
  streamRow('sendModifiedMessage', [queue('held', 'Read'), queue('missing', 'Write')], {
    ModifiedMessage: { ClientID: 'somebody', Channel: 'missing', ...EVENT },
  }),
];

const ask = (Metadata: string, Tags: Record<string, string>): Promise<object> =>
  calls.call('SendRequest', {
    RequestTypeData: 2,
    Channel: MANAGEMENT_CHANNEL,
    Metadata,
    Tags,
    Timeout: 5_000,
  });
const KINDS = {
  queues: 'Queues',
  events_store: 'EventsStore',
  events: 'Events',
  commands: 'Commands',
  queries: 'Queries',
} as const;
/** Requests to the broker itself are queries, but ask for rights of their own. */
const MANAGEMENT: readonly PolicyCase[] = CHANNEL_TYPES.flatMap((channel_type) => {
  const write = live(KINDS[channel_type], 'managed', 'Write');
  return [
    { operation: 'create-channel', what: channel_type, needs: [write] },
    { operation: 'delete-channel', what: channel_type, needs: [write] },
    { operation: 'list-channels', what: channel_type, needs: [] },
  ].map((row) => ({
    ...row,
    prepare: async () => {
      await ask(row.operation === 'create-channel' ? 'delete-channel' : 'create-channel', {
        channel_type,
        channel: 'managed',
      });
    },
    run: () => ask(row.operation, { channel_type, channel: 'managed' }),
  }));
});

const UNARY = nativeRows(server, (operation, request) => calls.call(operation, request));
const ROWS = [...UNARY, ...streamed, ...DOWNSTREAM, ...STREAM];

const CONTRACT = new URL('../../../src/connectors/native/wire/kubemq.proto', import.meta.url);
const rpcs = [...readFileSync(CONTRACT, 'utf8').matchAll(/^\s*rpc (\w+)/gm)].map(([, name]) => name ?? '');
/** What is wrong with messages is said in answers; everything else by the call's status. */
const inAnswers =
  /^(SendQueueMessage.*|ReceiveQueueMessages|AckAllQueueMessages|Queues(Up|Down)stream|StreamQueueMessage|SendEventsStream)$/;

describe('the native API over gRPC', () => {
  testComplete(ROWS, rpcs);
  testCases(server, ROWS, (operation) => (inAnswers.test(operation) ? IN_ANSWER : BY_STATUS));

  it('every request of the streams has a row', () => {
    const rows = (operation: string) =>
      ROWS.filter((row) => row.operation === operation).map(({ what }) => what);
    const { unknown: _, closeByServer: __, ...requests } = DownstreamType;
    expect(rows('QueuesDownstream').sort()).toEqual(Object.keys(requests).sort());
    const { unknown: ___, ...streamRequests } = StreamRequestType;
    expect(rows('StreamQueueMessage').sort()).toEqual(Object.keys(streamRequests).sort());
  });

  it('of a batch, what is allowed is done, and nothing else', async () => {
    server().allow([queue('q', 'Write')]);
    const Messages = ['q', 'secret'].map((Channel) => ({ ClientID: 'somebody', Channel, ...EVENT }));
    const { Results } = await calls.client.sendBatch(Messages);
    expect(Results.map(({ IsError }) => IsError)).toEqual([false, true]);
    expect(server().running.broker.queueStats(as('secret'))).toBeUndefined();
  });

  it('of what a pattern matches, only what is allowed comes through', async () => {
    server().allow([live('Events', 'e.*', 'Read'), live('Events', 'e.seen', 'Read')]);
    const subscription = calls.client.listen({ Channel: 'e.*' });
    streams.push(subscription);
    await expect.poll(() => server().running.broker.live.figures().subscribers).toBe(1);
    const at = { clientId: '', metadata: '', tags: new Map<string, string>(), body: Buffer.from('x') };
    for (const channel of ['e.unseen', 'e.seen'].map(as)) {
      server().running.broker.live.publish({ id: channel, channel, ...at });
    }
    await expect.poll(() => subscription.events.map(({ Channel }) => Channel)).toEqual(['e.seen']);
  });
});

describe('channel management', () => {
  testComplete(MANAGEMENT, MANAGEMENT_REQUESTS);
  testCases(server, MANAGEMENT, () => IN_ANSWER);

  it('lists leave out what a client has no right to', async () => {
    for (const channel_type of CHANNEL_TYPES) {
      server().allowAll();
      for (const channel of ['seen', 'unseen']) await ask('create-channel', { channel_type, channel });
      server().allow([live(KINDS[channel_type], 'seen', 'Read')]);
      const { Body } = (await ask('list-channels', { channel_type })) as { readonly Body: Buffer };
      const names = (JSON.parse(Body.toString()) as { readonly name: string }[]).map(({ name }) => name);
      expect([channel_type, names]).toEqual([channel_type, ['seen']]);
    }
  });

  it('says nothing of what an alias stands for to who may not change it', async () => {
    server().allowAll();
    await makeQueue('sqs.secret');
    await change({ do: 'set-alias', alias: as('native.other-name'), channel: as('sqs.secret') });
    server().allow([queue('native.other-name', 'Write')]);
    const removal = ask('delete-channel', { channel_type: 'queues', channel: 'native.other-name' });
    await expect(removal).rejects.toThrow(Denied);
  });
});
