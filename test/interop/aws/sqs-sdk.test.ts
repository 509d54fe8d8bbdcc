import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ListQueueTagsCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SetQueueAttributesCommand,
  TagQueueCommand,
  UntagQueueCommand,
  type ReceiveMessageCommandInput,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { channelName } from '../../../src/core/channel-name.js';
import { bodies, pass, Queues, refusal, startAwsServer, type AwsServer } from './aws-server.js';

const clock = new ManualClock();
let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  queues = new Queues(server);
});
afterAll(() => server.stop());

const create: Queues['create'] = (...of) => queues.create(...of);
const receive: Queues['receive'] = (...of) => queues.receive(...of);
const send: Queues['send'] = (...of) => queues.send(...of);

describe('queues', () => {
  it('are made once, listed, found and deleted', async () => {
    const url = await create({ VisibilityTimeout: '43200', DelaySeconds: '900' }, 'life');
    expect(url).toBe(`${server.url}/000000000000/life`);
    expect(await create({ VisibilityTimeout: '43200' }, 'life')).toBe(url);
    expect(await create({}, 'life')).toBe(url);
    expect(await refusal(create({ DelaySeconds: '1' }, 'life'))).toMatchObject({
      code: 'QueueNameExists',
      message: 'A queue already exists with the same name and a different value for attribute DelaySeconds',
    });
    expect((await server.sqs.send(new GetQueueUrlCommand({ QueueName: 'life' }))).QueueUrl).toBe(url);
    const listed = await server.sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'li' }));
    expect(listed.QueueUrls).toEqual([url]);
    await server.sqs.send(new DeleteQueueCommand({ QueueUrl: url }));
    expect(await refusal(server.sqs.send(new GetQueueUrlCommand({ QueueName: 'life' })))).toMatchObject({
      code: 'QueueDoesNotExist',
      status: 400,
    });
    expect(
      (await server.sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'li' }))).QueueUrls,
    ).toBeUndefined();
  });

  it('list in pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await create({}, name);
    const first = await server.sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'page-', MaxResults: 2 }));
    expect(first.QueueUrls).toHaveLength(2);
    const rest = await server.sqs.send(
      new ListQueuesCommand({ QueueNamePrefix: 'page-', MaxResults: 2, NextToken: first.NextToken }),
    );
    expect(rest.QueueUrls?.map((url) => url.split('/').pop())).toEqual(['page-c']);
    expect(rest.NextToken).toBeUndefined();
  });

  it('say and change their attributes', async () => {
    const url = await create();
    const get = async (...AttributeNames: string[]) =>
      (
        await server.sqs.send(
          new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: AttributeNames as never[] }),
        )
      ).Attributes;
    expect(Object.keys((await get('All')) ?? {})).toHaveLength(12);
    expect(await get()).toBeUndefined();
    expect(await get('VisibilityTimeout')).toEqual({ VisibilityTimeout: '30' });
    await server.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: url, Attributes: { VisibilityTimeout: '7' } }),
    );
    expect(await get('VisibilityTimeout')).toEqual({ VisibilityTimeout: '7' });
    await send(url, 'a');
    await send(url, 'b', { DelaySeconds: 60 });
    await send(url, 'c');
    await receive(url, { MaxNumberOfMessages: 1 });
    expect(
      await get(
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesDelayed',
        'ApproximateNumberOfMessagesNotVisible',
      ),
    ).toEqual({
      ApproximateNumberOfMessages: '1',
      ApproximateNumberOfMessagesDelayed: '1',
      ApproximateNumberOfMessagesNotVisible: '1',
    });
    expect(await refusal(get('Nope'))).toMatchObject({ code: 'InvalidAttributeName' });
  });

  it('carry tags', async () => {
    const url = await create();
    const tags = async () => (await server.sqs.send(new ListQueueTagsCommand({ QueueUrl: url }))).Tags;
    expect(await tags()).toBeUndefined();
    await server.sqs.send(new TagQueueCommand({ QueueUrl: url, Tags: { a: '1', b: '' } }));
    await server.sqs.send(new TagQueueCommand({ QueueUrl: url, Tags: { a: '2' } }));
    await server.sqs.send(new UntagQueueCommand({ QueueUrl: url, TagKeys: ['b', 'unknown'] }));
    expect(await tags()).toEqual({ a: '2' });
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, '']));
    const over = new TagQueueCommand({ QueueUrl: url, Tags: many });
    const name = url.slice(url.lastIndexOf('/') + 1);
    expect(await refusal(server.sqs.send(over))).toMatchObject({
      code: 'InvalidParameterValue',
      message: `Too many tags added for queue ${name}.`,
    });
    const none = new UntagQueueCommand({ QueueUrl: url, TagKeys: [] });
    expect(await refusal(server.sqs.send(none))).toMatchObject({
      code: 'InvalidParameterValue',
      message: 'Tag keys must be between 1 and 128 characters in length.',
    });
  });

  it('made by other APIs are not there', async () => {
    await server.broker.change([{ do: 'create-queue', channel: channelName('sqs.native') }]);
    const url = `${server.url}/000000000000/native`;
    expect(await refusal(send(url, 'x'))).toMatchObject({ code: 'QueueDoesNotExist' });
    await create({}, 'native');
    expect((await send(url, 'x')).MessageId).toBeDefined();
  });

  it.each(['bad name', 'x'.repeat(81), 'dot.ted', 'late.fifo'])('are not named %s', async (name) => {
    expect(await refusal(create({}, name))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it('answer at every form of their URL', async () => {
    const url = await create({}, 'forms');
    await send(url, 'x');
    for (const form of ['forms', '000000000000/forms', 'http://elsewhere:1/123456789012/forms', `${url}/`]) {
      expect(bodies(await receive(form, { VisibilityTimeout: 0 })), form).toEqual(['x']);
    }
  });

  it('are purged whole, once a minute', async () => {
    const url = await create();
    await send(url, 'a');
    await send(url, 'b');
    await send(url, 'c', { DelaySeconds: 60 });
    await receive(url, { MaxNumberOfMessages: 1 });
    const purge = () => server.sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
    await purge();
    expect(await receive(url)).toEqual([]);
    expect(await refusal(purge())).toMatchObject({ code: 'PurgeQueueInProgress', status: 403 });
    await pass(clock, 61_000);
    expect(await receive(url)).toEqual([]);
    await purge();
  });
});

describe('messages', () => {
  it('keep body and attributes', async () => {
    const url = await create();
    const text = ' \r\n\t"<ü😀>" ';
    const attributes = {
      k: { DataType: 'String', StringValue: 'x' },
      n: { DataType: 'Number.int', StringValue: '7' },
      b: { DataType: 'Binary', BinaryValue: Buffer.from([0, 1]) },
    };
    const trace = { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1' } };
    const sent = await send(url, text, { MessageAttributes: attributes, MessageSystemAttributes: trace });
    const [message] = await receive(url, { MessageAttributeNames: ['All'] });
    expect(message).toMatchObject({
      MessageId: sent.MessageId,
      Body: text,
      MD5OfBody: sent.MD5OfMessageBody,
      MD5OfMessageAttributes: sent.MD5OfMessageAttributes,
      Attributes: {
        SenderId: 'AKIDEXAMPLE',
        ApproximateReceiveCount: '1',
        AWSTraceHeader: 'Root=1',
        SentTimestamp: String(clock.now()),
      },
    });
    const firstAt = Number(message?.Attributes?.ApproximateFirstReceiveTimestamp);
    expect(Math.abs(firstAt - clock.now())).toBeLessThanOrEqual(1);
    expect(sent.MD5OfMessageSystemAttributes).toBeDefined();
    expect(Object.keys(message?.MessageAttributes ?? {})).toEqual(['b', 'k', 'n']);
    expect(message?.MessageAttributes?.['n']).toMatchObject({ DataType: 'Number.int', StringValue: '7' });
    expect(Buffer.from(message?.MessageAttributes?.['b']?.BinaryValue ?? [])).toEqual(Buffer.from([0, 1]));
  });

  it('show only the attributes that were asked for, and the MD5 of those', async () => {
    const url = await create({ VisibilityTimeout: '0' });
    const text = (StringValue: string) => ({ DataType: 'String', StringValue });
    await send(url, 'x', {
      MessageAttributes: {
        General: text('Kenobi'),
        Hello: text('There'),
        'Help.Me': text('Me'),
        k: text('x'),
      },
    });
    const ask = async (...names: string[]) => {
      const [message] = await receive(url, { MessageAttributeNames: names });
      return [Object.keys(message?.MessageAttributes ?? {}), message?.MD5OfMessageAttributes];
    };
    expect(await ask()).toEqual([[], undefined]);
    expect(await ask('nope', 'bad name!')).toEqual([[], undefined]);
    expect(await ask('k')).toEqual([['k'], 'a45daa70926828a2f0a1db3418e6feb4']);
    expect(await ask('Hel.*', 'General')).toEqual([
      ['General', 'Hello', 'Help.Me'],
      '4c360f3fdafd970e05fae2f149d997f5',
    ]);
    expect((await ask('.*'))[0]).toHaveLength(4);
  });

  it('are refused with a reason', async () => {
    const url = await create({ MaximumMessageSize: '1024' });
    const attribute = (DataType: string, StringValue: string) => ({
      MessageAttributes: { a: { DataType, StringValue } },
    });
    const cases: [string, object, string][] = [
      ['', {}, 'MissingParameter'],
      ['\u0000', {}, 'InvalidMessageContents'],
      ['a\uffff', {}, 'InvalidMessageContents'],
      ['x'.repeat(1025), {}, 'InvalidParameterValue'],
      ['x'.repeat(1020), attribute('String', 'abcde'), 'InvalidParameterValue'],
      ['x', attribute('Number', 'abc'), 'InvalidParameterValue'],
      ['x', attribute('Foo', 'abc'), 'InvalidParameterValue'],
      ['x', attribute('String', ''), 'InvalidParameterValue'],
      ['x', { DelaySeconds: 901 }, 'InvalidParameterValue'],
      ['x', { MessageDeduplicationId: 'd' }, 'InvalidParameterValue'],
      ['x', { MessageGroupId: 'has space' }, 'InvalidParameterValue'],
    ];
    for (const [body, more, code] of cases) {
      expect(await refusal(send(url, body, more)), JSON.stringify([body.slice(0, 9), more])).toMatchObject({
        code,
        status: 400,
      });
    }
    expect(await receive(url)).toEqual([]);
  });

  it('go and come in batches, bad entries failing alone', async () => {
    const url = await create();
    const entries = Array.from({ length: 10 }, (_, i) => ({
      Id: `m${i}`,
      MessageBody: i === 4 ? '\u000b' : String(i),
    }));
    const sent = await server.sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: entries }));
    expect(sent.Successful?.map(({ Id }) => Id)).toEqual(
      entries.map(({ Id }) => Id).filter((id) => id !== 'm4'),
    );
    expect(sent.Failed).toMatchObject([{ Id: 'm4', Code: 'InvalidMessageContents', SenderFault: true }]);
    const messages = await receive(url);
    expect(bodies(messages)).toEqual(['0', '1', '2', '3', '5', '6', '7', '8', '9']);
    const handles = messages.map(({ ReceiptHandle }, i) => ({ Id: `d${i}`, ReceiptHandle }));
    const deleted = await server.sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: [...handles, { Id: 'bad', ReceiptHandle: 'garbage' }],
      }),
    );
    expect(deleted.Successful).toHaveLength(9);
    expect(deleted.Failed).toMatchObject([{ Id: 'bad', Code: 'ReceiptHandleIsInvalid', SenderFault: true }]);
    await pass(clock, 31_000);
    expect(await receive(url)).toEqual([]);
  });

  it('refuse wrong batches whole', async () => {
    const url = await create();
    const batch = (Entries: { Id: string; MessageBody: string }[]) =>
      refusal(server.sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries })));
    const entry = (Id: string, MessageBody = 'x') => ({ Id, MessageBody });
    expect(await batch([])).toMatchObject({ code: 'EmptyBatchRequest' });
    expect(await batch(Array.from({ length: 11 }, (_, i) => entry(`e${i}`)))).toMatchObject({
      code: 'TooManyEntriesInBatchRequest',
      message: 'Maximum number of entries per request are 10. You have sent 11.',
    });
    expect(await batch([entry('a'), entry('a')])).toMatchObject({
      code: 'BatchEntryIdsNotDistinct',
      message: 'Id a repeated.',
    });
    expect(await batch([entry('a b')])).toMatchObject({ code: 'InvalidBatchEntryId' });
    expect(await batch([entry('a', 'x'.repeat(600_000)), entry('b', 'x'.repeat(600_000))])).toMatchObject({
      code: 'BatchRequestTooLong',
      message: 'Batch requests cannot be longer than 1048576 bytes. You have sent 1200000 bytes.',
    });
    expect(await receive(url)).toEqual([]);
  });

  it('can be a megabyte', async () => {
    const url = await create();
    const body = 'x'.repeat(1_048_576);
    await send(url, body);
    expect((await receive(url))[0]?.Body).toBe(body);
    expect(await refusal(send(url, body + 'x'))).toMatchObject({ code: 'InvalidParameterValue' });
  });
});

describe('visibility', () => {
  it('times out after the queue, the receive or the change says so', async () => {
    const url = await create({ VisibilityTimeout: '2' });
    await send(url, 'x');
    expect(await receive(url)).toHaveLength(1);
    expect(await receive(url)).toHaveLength(0);
    await pass(clock, 2_500);
    const [second] = await receive(url, { VisibilityTimeout: 10 });
    expect(second?.Attributes).toMatchObject({ ApproximateReceiveCount: '2' });
    await pass(clock, 5_000);
    expect(await receive(url)).toHaveLength(0);
    const change = (VisibilityTimeout: number) =>
      server.sqs.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: url,
          ReceiptHandle: second?.ReceiptHandle,
          VisibilityTimeout,
        }),
      );
    await change(20);
    await pass(clock, 15_000);
    expect(await receive(url)).toHaveLength(0);
    await change(0);
    expect(await receive(url)).toHaveLength(1);
    expect(await refusal(change(43_201))).toMatchObject({ code: 'InvalidParameterValue' });
  });

  it('of zero leaves a received message visible and counts', async () => {
    const url = await create();
    await send(url, 'x');
    for (const count of ['1', '2', '3']) {
      const [message] = await receive(url, { VisibilityTimeout: 0 });
      expect(message?.Attributes?.ApproximateReceiveCount).toBe(count);
    }
  });

  it('handles know their message, their queue and their end', async () => {
    const url = await create();
    const other = await create();
    await send(url, 'x');
    const [message] = await receive(url);
    const remove = (QueueUrl: string, ReceiptHandle = message?.ReceiptHandle) =>
      server.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    expect(await refusal(remove(url, 'garbage'))).toMatchObject({
      code: 'ReceiptHandleIsInvalid',
      message: 'The input receipt handle "garbage" is not a valid receipt handle.',
    });
    expect(await refusal(remove(other))).toMatchObject({ code: 'ReceiptHandleIsInvalid' });
    await remove(url);
    await remove(url);
    expect(
      await refusal(
        server.sqs.send(
          new ChangeMessageVisibilityCommand({
            QueueUrl: url,
            ReceiptHandle: message?.ReceiptHandle,
            VisibilityTimeout: 10,
          }),
        ),
      ),
    ).toMatchObject({ code: 'InvalidParameterValue' });
    await pass(clock, 31_000);
    expect(await receive(url)).toEqual([]);
  });

  it('changes in batches, bad entries failing alone', async () => {
    const url = await create();
    await send(url, 'x');
    const [message] = await receive(url);
    const changed = await server.sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: url,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: 'bad', ReceiptHandle: 'x', VisibilityTimeout: 0 },
        ],
      }),
    );
    expect(changed.Successful).toEqual([{ Id: 'good' }]);
    expect(changed.Failed).toMatchObject([{ Id: 'bad', Code: 'ReceiptHandleIsInvalid', SenderFault: true }]);
    expect(await receive(url)).toHaveLength(1);
  });
});

describe('waiting', () => {
  it('ends when a message comes', async () => {
    const url = await create();
    const waiting = receive(url, { WaitTimeSeconds: 20 });
    await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(1);
    await send(url, 'x');
    expect(bodies(await waiting)).toEqual(['x']);
  });

  it('ends with nothing at its time, which the queue may set', async () => {
    const url = await create({ ReceiveMessageWaitTimeSeconds: '5' });
    const waiting = receive(url);
    await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(1);
    await pass(clock, 5_100);
    expect(await waiting).toEqual([]);
    expect(await receive(url, { WaitTimeSeconds: 0 })).toEqual([]);
  });

  it('sees delayed messages when they are due', async () => {
    const url = await create();
    await send(url, 'x', { DelaySeconds: 2 });
    const waiting = receive(url, { WaitTimeSeconds: 10 });
    await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(1);
    await pass(clock, 2_200);
    expect(bodies(await waiting)).toEqual(['x']);
  });

  it('of a client that left swallows nothing', async () => {
    const url = await create();
    const leave = new AbortController();
    const command = new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 20 });
    const gone = server.sqs.send(command, { abortSignal: leave.signal });
    await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(1);
    leave.abort();
    await expect(gone).rejects.toThrow();
    await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(0);
    await send(url, 'x');
    const [message] = await receive(url);
    expect(message?.Attributes?.ApproximateReceiveCount).toBe('1');
  });

  it.each<[Partial<ReceiveMessageCommandInput>, string]>([
    [{ MaxNumberOfMessages: 0 }, 'Must be between 1 and 10, if provided.'],
    [{ MaxNumberOfMessages: 11 }, 'Must be between 1 and 10, if provided.'],
    [{ WaitTimeSeconds: 21 }, 'Must be >= 0 and <= 20, if provided.'],
    [{ VisibilityTimeout: 43_201 }, 'Must be between 0 and 43200'],
  ])('refuses %j', async (more, text) => {
    const { code, message } = await refusal(receive(await create(), more));
    expect(code).toBe('InvalidParameterValue');
    expect(message).toContain(text);
  });
});
