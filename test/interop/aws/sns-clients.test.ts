import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';
import { awsCli, boto, cli, moto, scenario, scenarioWithMoto, type Transcript } from './foreign-clients.js';
import { Hook, Topics } from './sns-rig.js';

const SCRIPT = 'sns_scenario.py';
let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer({ config: { credentials: [CREDENTIALS] } });
});
afterAll(() => server.stop());

/** Where moto differs from us, and why we stay with AWS. */
const MOTO_DIFFERS: Readonly<Record<string, string>> = {
  'other tags': 'takes other tags for a topic that is there',
  'default delivery policy': 'has another shape',
  'filter prefix': 'does not look into String.Array',
  'filter ignore case': 'knows no equals-ignore-case',
  'filter exists not': 'passes a message without any attribute; AWS documents that none passes',
  'bad policy json': 'answers 500 in HTML',
  'no default': 'takes a structured message without a default',
  'fifo without group': 'calls it MissingParameter',
  'publish fifo': 'cannot deliver to a FIFO queue by content',
  'publish duplicate': 'likewise',
  'fifo bodies': 'likewise',
  webhook: 'confirms at once',
  'webhook scheme': 'does not compare',
  'unknown protocol': 'takes any',
  'opted out': 'has made-up numbers',
  'publish array, filter number': 'refuses the publish: it takes every array for numbers',
};

describe.skipIf(boto === undefined)('boto3', () => {
  let ours: Transcript;

  beforeAll(async () => {
    ours = await scenario(SCRIPT, server.url);
  });

  it('gets what AWS would say', () => {
    const refused = ['InvalidParameter', 400];
    expect(ours).toMatchObject({
      'other tags': refused,
      tags: { Tags: [{ Key: 'b', Value: '2' }] },
      'tags of nothing': ['ResourceNotFound', 404],
      allowed: ['__default_statement_ID', 'l'],
      'filter exact': ['text'],
      'filter number': ['five'],
      'filter prefix': ['array', 'text'],
      'filter anything but': ['address', 'array', 'big'],
      'filter range': ['big'],
      'filter exists not': ['other'],
      'filter body': ['{"o":[{"k":"no"},{"k":"x"}]}', '{"o":{"k":"x"}}', '{"o":{"k":"yes"}}'],
      'bad policy json': refused,
      'bad policy complex': refused,
      'structured text': ['s'],
      'no default': refused,
      eleven: ['TooManyEntriesInBatchRequest', 400],
      'publish fifo': ['MessageId', 'SequenceNumber'],
      'fifo bodies': ['x'],
      webhook: 'pending confirmation',
      'application of nothing': ['NotFound', 404],
      applications: { PlatformApplications: [] },
    });
  });

  it.skipIf(moto === undefined)('sees no other difference from moto than the known ones', async () => {
    const theirs = await scenarioWithMoto(SCRIPT);
    const steps = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    const differing = [...steps].filter(
      (step) => JSON.stringify(ours[step]) !== JSON.stringify(theirs[step]),
    );
    expect(differing.sort()).toEqual(Object.keys(MOTO_DIFFERS).sort());
  });
});

describe.skipIf(cli === undefined)('AWS CLI', () => {
  const sns = (...args: readonly string[]): Promise<Record<string, unknown>> =>
    awsCli(server.url, 'sns', ...args);

  it('confirms a subscription by its token and publishes to it', async () => {
    const hook = await Hook.start();
    try {
      const topic = await new Topics(server).create();
      const on = ['--topic-arn', topic];
      expect(
        await sns('subscribe', ...on, '--protocol', 'http', '--notification-endpoint', hook.url),
      ).toEqual({ SubscriptionArn: 'pending confirmation' });
      const { Token = '' } = JSON.parse((await hook.post(1)).body) as { Token?: string };
      const { SubscriptionArn } = await sns('confirm-subscription', ...on, '--token', Token);
      expect(String(SubscriptionArn).startsWith(`${topic}:`)).toBe(true);
      await sns('publish', ...on, '--message', 'from the shell');
      expect(JSON.parse((await hook.post(2)).body)).toMatchObject({ Message: 'from the shell' });
    } finally {
      await hook.stop();
    }
  });
});
