import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import { program, pythonWith } from '../support/foreign.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The first code block under a heading of the tour. */
function snippet(heading: string): string {
  const section = readme.split(`### ${heading}\n`)[1] ?? '';
  const block = /```\w+\n([\s\S]*?)```/.exec(section)?.[1];
  if (block === undefined) throw new Error(`the README has no code under "${heading}"`);
  return block;
}

describe('the tour of the README', () => {
  const store = temporaryFolder();
  // Inside the repository, so that the snippets find its packages.
  mkdirSync(join(root, '.cache'), { recursive: true });
  const scripts = mkdtempSync(join(root, '.cache/readme-'));
  let broker: BrokerProcess;

  beforeAll(async () => {
    broker = await spawnBroker({ folder: store.path });
  });
  afterAll(async () => {
    await broker.kill('SIGTERM');
    store.remove();
    rmSync(scripts, { recursive: true, force: true });
  });

  /** The code with this broker's ports instead of the default ones. */
  function here(code: string): string {
    const ports = {
      4566: 'aws',
      8085: 'gcp',
      5672: 'amqp',
      50000: 'native-grpc',
      9090: 'native-rest',
      8080: 'api',
    };
    return Object.entries(ports).reduce(
      (text, [port, name]) => text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(broker.port(name))),
      code,
    );
  }

  /** Runs a program until it ends or has printed `until`. */
  function run(command: readonly string[], until?: string): Promise<{ code: number | null; output: string }> {
    const [file = '', ...args] = command;
    const environment = {
      ...process.env,
      PUBSUB_EMULATOR_HOST: `localhost:${broker.port('gcp')}`,
      AWS_PAGER: '',
    };
    return new Promise((resolve) => {
      let output = '';
      const child = execFile(file, args, { env: environment, cwd: scripts, timeout: 60_000 });
      const read = (text: string): void => {
        output += text;
        if (until !== undefined && output.includes(until)) child.kill('SIGKILL');
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.on('close', (code) => resolve({ code, output }));
    });
  }

  function runJs(heading: string, until?: string): ReturnType<typeof run> {
    const file = join(scripts, `${heading.replaceAll(/\W+/g, '-')}.mjs`);
    writeFileSync(file, here(snippet(heading)));
    return run([process.execPath, file], until);
  }

  it.skipIf(program('aws') === undefined)('SQS with the AWS CLI', async () => {
    const { code, output } = await run(['bash', '-ec', here(snippet('SQS with the AWS CLI'))]);
    expect(output).toContain('"Body": "one coffee"');
    expect(code).toBe(0);
  });

  it('SQS with the AWS SDK', async () => {
    const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
    const sqs = new SQSClient({ endpoint: here('http://localhost:4566'), region: 'us-east-1', credentials });
    await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    sqs.destroy();
    expect(await runJs('SQS with the AWS SDK')).toMatchObject({ code: 0 });
  });

  it("Pub/Sub with Google's client", async () => {
    expect((await runJs("Pub/Sub with Google's client", '3.50')).output).toContain('3.50');
  });

  it('AMQP with amqplib', async () => {
    expect((await runJs('AMQP with amqplib', 'resize 42')).output).toContain('resize 42');
  });

  it.skipIf(pythonWith('pika') === undefined)('AMQP with pika', async () => {
    const file = join(scripts, 'tour.py');
    writeFileSync(file, here(snippet('AMQP with pika')));
    expect((await run([pythonWith('pika') ?? '', file])).output).toContain("b'resize 4");
  });

  it('native gRPC with kubemq-js', async () => {
    expect((await runJs('Native gRPC with kubemq-js', 'weekly')).output).toContain('weekly');
  });
});
