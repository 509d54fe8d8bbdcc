import type { PolicyCase, RuledServer } from './policy-cases.js';
import { as, live, log, queue } from './native-calls.js';

/** Operations with one request and one answer; requests as the contract has them, with `body` for the bytes of a body. */
export function nativeRows(
  server: () => RuledServer,
  call: (operation: string, request: object) => Promise<unknown>,
  body: unknown = Buffer.from('x'),
): readonly PolicyCase[] {
  const withQueue = async (): Promise<void> => {
    const channel = as('q');
    await server().running.broker.change([{ do: 'create-queue', channel, ifMissing: true }]);
    await server().running.broker.send([{ channel, body: Buffer.from('x') }]);
  };
  const message = { ClientID: 'somebody', Channel: 'q', Body: body };
  const redirected = { ...message, Policy: { MaxReceiveCount: 1, MaxReceiveQueue: 'dead' } };
  const both = [queue('q', 'Write'), queue('dead', 'Write')];
  const receive = { Channel: 'q', MaxNumberOfMessages: 1, WaitTimeSeconds: 1 };
  const ask = { Channel: 'r', Body: body, Timeout: 5 };
  const row = (
    operation: string,
    needs: PolicyCase['needs'],
    request: object,
    what?: string,
  ): PolicyCase => ({
    operation,
    ...(what === undefined ? {} : { what }),
    needs,
    prepare: withQueue,
    run: () => call(operation, request),
  });
  return [
    row('Ping', [], {}),
    row('SendEvent', [live('Events', 'e', 'Write')], { Channel: 'e', Body: body }),
    row('SendEvent', [log('l', 'Write')], { Channel: 'l', Store: true, Body: body }, 'stored'),
    row('SendRequest', [live('Commands', 'r', 'Write')], { RequestTypeData: 1, ...ask }, 'a command'),
    row('SendRequest', [live('Queries', 'r', 'Write')], { RequestTypeData: 2, ...ask }, 'a query'),
    row('SendResponse', [], { ReplyChannel: 'nobody', RequestID: 'r' }),
    row('SendQueueMessage', [queue('q', 'Write')], message),
    row('SendQueueMessage', both, redirected, 'with a dead-letter queue'),
    row('SendQueueMessagesBatch', [queue('q', 'Write')], { BatchID: 'b', Messages: [message] }),
    row('SendQueueMessagesBatch', both, { BatchID: 'b', Messages: [redirected] }, 'with a dead-letter queue'),
    row('ReceiveQueueMessages', [queue('q', 'Read')], receive),
    row('ReceiveQueueMessages', [queue('q', 'Read')], { ...receive, IsPeak: true }, 'peek'),
    row('AckAllQueueMessages', [queue('q', 'Read')], { Channel: 'q' }),
    row('QueuesInfo', [queue('q', 'Sight')], { QueueName: 'q' }),
    row('QueuesInfo', [], {}, 'of all'),
  ];
}
