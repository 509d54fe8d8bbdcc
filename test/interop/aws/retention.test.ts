import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { bodies, pass, Queues, startAwsServer, type AwsServer } from './aws-server.js';
import { queueArn, Topics } from './sns-rig.js';

const clock = new ManualClock();
let server: AwsServer;
let queues: Queues;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  queues = new Queues(server);
});
afterAll(() => server.stop());

it('messages are kept as long as their queue says, from their sending; one in flight until that ends', async () => {
  const url = await queues.create({ MessageRetentionPeriod: '60', VisibilityTimeout: '40' });
  const counts = async (): Promise<readonly (string | undefined)[]> => {
    const ask = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] });
    const { Attributes = {} } = await server.sqs.send(ask);
    return [Attributes['ApproximateNumberOfMessages'], Attributes['ApproximateNumberOfMessagesNotVisible']];
  };
  await queues.send(url, 'old');
  await pass(clock, 30_000);
  await queues.send(url, 'young');
  expect(bodies(await queues.receive(url, { MaxNumberOfMessages: 1 }))).toEqual(['old']);
  await pass(clock, 31_000);
  expect(await counts()).toEqual(['1', '1']);
  await pass(clock, 10_000);
  expect(bodies(await queues.receive(url, { VisibilityTimeout: 0 }))).toEqual(['young']);
  await pass(clock, 20_000);
  expect(await counts()).toEqual(['0', '0']);
});

it('a publish stores its copies for all queues in one step', async () => {
  const topics = new Topics(server);
  const topic = await topics.create();
  const urls: string[] = [];
  for (const name of ['fan1', 'fan2', 'fan3']) {
    urls.push(await queues.create({}, name));
    await topics.subscribe(topic, queueArn(name), { RawMessageDelivery: 'true' });
  }
  const send = vi.spyOn(server.broker, 'send');
  await topics.publish(topic, 'x');
  expect(send.mock.calls.map(([messages]) => messages.length)).toEqual([3]);
  for (const url of urls) expect(bodies(await queues.receive(url))).toEqual(['x']);
});
