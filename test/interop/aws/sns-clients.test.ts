import { execFile, spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program, pythonWith } from '../../support/foreign.js';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';
import { Hook, Topics } from './sns-rig.js';

const run = promisify(execFile);
const boto = pythonWith('boto3');
const moto = boto === undefined ? undefined : pythonWith('moto');
const cli = program('aws');

const environment = {
  ...process.env,
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_DEFAULT_OUTPUT: 'json',
  AWS_EC2_METADATA_DISABLED: 'true',
};

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer({ config: { credentials: [CREDENTIALS] } });
});
afterAll(() => server.stop());

type Transcript = Record<string, unknown>;

async function scenario(python: string, url: string): Promise<Transcript> {
  const script = join(import.meta.dirname, 'sns_scenario.py');
  const { stdout } = await run(python, [script, url], { env: environment });
  return JSON.parse(stdout) as Transcript;
}

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
    ours = await scenario(boto ?? '', server.url);
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
    const port = await freePort();
    const child = spawn(moto ?? '', ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
      stdio: 'ignore',
      env: environment,
    });
    try {
      await answers(`http://127.0.0.1:${port}/moto-api/`, () => child.exitCode !== null);
      const theirs = await scenario(boto ?? '', `http://127.0.0.1:${port}`);
      const steps = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
      const differing = [...steps].filter(
        (step) => JSON.stringify(ours[step]) !== JSON.stringify(theirs[step]),
      );
      expect(differing.sort()).toEqual(Object.keys(MOTO_DIFFERS).sort());
    } finally {
      child.kill();
    }
  });
});

describe.skipIf(cli === undefined)('AWS CLI', () => {
  async function sns(...args: string[]): Promise<Record<string, unknown>> {
    const { stdout } = await run(cli ?? '', ['--endpoint-url', server.url, 'sns', ...args], {
      env: environment,
    });
    return stdout === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>);
  }

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

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Waits until a server answers. */
async function answers(url: string, ended: () => boolean): Promise<void> {
  for (;;) {
    if (ended()) throw new Error('the server ended');
    try {
      await fetch(url);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
