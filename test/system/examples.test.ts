import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { amqpTools, program, pythonWith } from '../support/foreign.js';
import { useServer } from '../support/server.js';

const examples = join(import.meta.dirname, '../../examples');
/** Those that have to be compiled, start slowly or take a library that machines rarely have: they run when they are asked for. */
const BY_HAND: ReadonlySet<string> = new Set([
  'sqs-sns/java',
  'sqs-sns/go',
  'sqs-sns/shell.sh',
  'pubsub/python.py',
  'pubsub/java',
  'pubsub/go',
  'amqp/java',
  'amqp/go',
]);
const all = process.env['POLYMQ_EXAMPLES'] === 'all';
const TIMEOUT_MS = all ? 600_000 : 60_000;

interface Example {
  readonly name: string;
  readonly says: string;
  /** Undefined: what it takes is not there. */
  readonly command: readonly string[] | undefined;
  /** Below `examples`. */
  readonly folder?: string;
}

const tsx = (path: string): readonly string[] => [
  process.execPath,
  '--no-warnings',
  '--import',
  'tsx',
  join(examples, path),
];

function python(module: string, path: string): readonly string[] | undefined {
  const found = pythonWith(module);
  return found === undefined ? undefined : [found, join(examples, path)];
}

function tool(name: string, ...args: readonly string[]): readonly string[] | undefined {
  const found = program(name, name === 'go' ? 'version' : '--version');
  return found === undefined ? undefined : [found, ...args];
}

const ALL: readonly Example[] = [
  ...['sqs-sns', 'pubsub', 'amqp', 'native'].map((protocol) => ({
    name: `${protocol}/typescript.ts`,
    says: 'hello from TypeScript',
    command: tsx(`${protocol}/typescript.ts`),
  })),
  { name: 'sqs-sns/python.py', says: 'hello from Python', command: python('boto3', 'sqs-sns/python.py') },
  {
    name: 'pubsub/python.py',
    says: 'hello from Python',
    command: python('google.cloud.pubsub_v1', 'pubsub/python.py'),
  },
  { name: 'amqp/python.py', says: 'hello from Python', command: python('pika', 'amqp/python.py') },
  { name: 'native/python.py', says: 'hello from Python', command: python('json', 'native/python.py') },
  ...(['sqs-sns', 'pubsub', 'native'] as const).map((protocol) => ({
    name: `${protocol}/java`,
    says: 'hello from Java',
    command: tool('java', join(examples, protocol, 'java/Example.java')),
  })),
  ...(['pubsub', 'native'] as const).map((protocol) => ({
    name: `${protocol}/go`,
    says: 'hello from Go',
    command: tool('go', 'run', join(examples, protocol, 'go/main.go')),
  })),
  {
    name: 'sqs-sns/shell.sh',
    says: 'hello from the shell',
    command: needing('aws', 'sqs-sns/shell.sh'),
  },
  { name: 'pubsub/shell.sh', says: 'hello from the shell', command: needing('curl', 'pubsub/shell.sh') },
  {
    name: 'amqp/shell.sh',
    says: 'hello from the shell',
    command: amqpTools() === undefined ? undefined : ['sh', join(examples, 'amqp/shell.sh')],
  },
  { name: 'native/shell.sh', says: 'hello from the shell', command: needing('curl', 'native/shell.sh') },
  ...(['sqs-sns', 'amqp'] as const).map((protocol) => ({
    name: `${protocol}/go`,
    says: 'hello from Go',
    command: tool('go', 'run', '.'),
    folder: `${protocol}/go`,
  })),
  {
    name: 'amqp/java',
    says: 'hello from Java',
    command: tool('mvn', '-q', '-B', 'compile', 'exec:java'),
    folder: 'amqp/java',
  },
];

const EXAMPLES = ALL.filter(({ name }) => all || !BY_HAND.has(name));

function needing(tool: string, path: string): readonly string[] | undefined {
  return program(tool) === undefined ? undefined : ['sh', join(examples, path)];
}

/** Runs to the end; gives what it said. */
function run(
  { command = [], folder = '' }: Example,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const [file = '', ...args] = command;
    const child = spawn(file, args, {
      cwd: join(examples, folder),
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`it ended with ${String(code)}:\n${output}`));
    });
  });
}

describe('the examples', () => {
  const server = useServer();
  const at = (listener: string): string => {
    const { host, port } = server().address(listener);
    return `${host}:${port}`;
  };

  it.each(
    EXAMPLES.filter(({ command }) => command !== undefined).map(
      (example) => [example.name, example] as const,
    ),
  )(
    '%s',
    async (_name, example) => {
      const output = await run(example, {
        AWS_ENDPOINT_URL: `http://${at('aws')}`,
        PUBSUB_EMULATOR_HOST: at('gcp'),
        AMQP_URL: `amqp://guest:guest@${at('amqp')}`,
        KUBEMQ_ADDRESS: at('native-grpc'),
        KUBEMQ_REST: `http://${at('native-rest')}`,
      });
      expect(output).toContain(`received: ${example.says}`);
    },
    TIMEOUT_MS,
  );

  it.skip.each(EXAMPLES.filter(({ command }) => command === undefined).map(({ name }) => name))(
    '%s: what it takes is not there',
    () => undefined,
  );
});
