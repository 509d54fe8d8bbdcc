import { afterEach, expect, it } from 'vitest';
import { silentLog, type Log } from '../../../src/base/log.js';
import { refusal, startAwsServer, type AwsServer } from './aws-server.js';
import { Hook, Topics } from './sns-rig.js';

/** Whom subscribers may have the broker call: CONNECTORS_AWS_WEBHOOK_ALLOW. */
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(webhookAllow?: string): Promise<{ server: AwsServer; hook: Hook; warned: string[] }> {
  const warned: string[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => void warned.push(String(fields?.['setting'])) };
  const server = await startAwsServer({ config: webhookAllow === undefined ? {} : { webhookAllow }, log });
  const hook = await Hook.start();
  stops.push(
    () => hook.stop(),
    () => server.stop(),
  );
  return { server, hook, warned };
}

const droppedOf = (server: AwsServer): number => server.connector.status().counters['webhook_dropped'] ?? 0;

it('is by default everybody, loopback and private networks too, and the start says so', async () => {
  const { server, hook, warned } = await start();
  expect(warned).toEqual(['CONNECTORS_AWS_WEBHOOK_ALLOW']);
  const topics = new Topics(server);
  await topics.subscribe(await topics.create(), `${hook.url}/in`);
  expect((await hook.post(1)).headers['x-amz-sns-message-type']).toBe('SubscriptionConfirmation');
});

it('refuses an address that is not listed, and says nothing of the rest at the start', async () => {
  const { server, hook, warned } = await start('public,10.1.0.0/16');
  const topics = new Topics(server);
  const topic = await topics.create();
  expect(warned).toEqual([]);
  for (const url of [
    hook.url,
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]:1/',
    'http://10.2.0.1/',
  ]) {
    expect(await refusal(topics.subscribe(topic, url))).toMatchObject({
      code: 'InvalidParameterException',
      status: 400,
    });
  }
  expect(await topics.subscribe(topic, 'http://10.1.2.3/')).toContain(topic);
});

it('looks at where a name leads, each time it is called', async () => {
  const { server, hook } = await start('public');
  const topics = new Topics(server);
  const before = droppedOf(server);
  await topics.subscribe(await topics.create(), `${hook.url.replace('127.0.0.1', 'localhost')}/in`);
  await expect.poll(() => droppedOf(server), { timeout: 20_000 }).toBeGreaterThan(before);
  expect(hook.posts).toEqual([]);
});

it('calls names that are listed', async () => {
  const { server, hook } = await start('localhost,127.0.0.1');
  const topics = new Topics(server);
  await topics.subscribe(await topics.create(), `${hook.url.replace('127.0.0.1', 'localhost')}/in`);
  expect((await hook.post(1)).path).toBe('/in');
});
