import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

const root = join(import.meta.dirname, '../..');
const built = join(root, 'dist/app/main.js');

export interface ProcessOptions {
  /** Store folder; give the same one again to restart. */
  readonly folder: string;
  /** Environment on top of: loopback only, free ports, JSON log. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Arguments behind `serve`; default: `--all`. */
  readonly args?: readonly string[];
  /** Runs before the program, e.g. `['taskset', '-c', '0']`. */
  readonly wrapper?: readonly string[];
  /** Flags of node itself. */
  readonly nodeFlags?: readonly string[];
  readonly readyTimeoutMs?: number;
  /** The log line to wait for, with addresses in it; default: `ready`. */
  readonly line?: 'ready' | 'standby';
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface BrokerProcess {
  readonly pid: number;
  /** Listeners by name, from the `ready` line. */
  readonly addresses: ReadonlyMap<string, { readonly host: string; readonly port: number }>;
  /** Port of a listener; throws when there is none of that name. */
  port(name: string): number;
  /** Parsed log lines so far. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly errorOutput: () => string;
  /** Sends the signal and waits for the end. Default SIGKILL: the crash. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
  readonly exited: Promise<Exit>;
}

const living = new Set<ChildProcessByStdio<null, Readable, Readable>>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Arguments for node that run the product: the build when it is as new as the sources, else the sources through tsx. */
export function programArguments(): readonly string[] {
  return isFresh() ? [built] : ['--import', 'tsx', join(root, 'src/app/main.ts')];
}

let fresh: boolean | undefined;
function isFresh(): boolean {
  fresh ??= existsSync(built) && statSync(built).mtimeMs >= newestMs(join(root, 'src'));
  return fresh;
}

function newestMs(folder: string): number {
  const times = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return Math.max(0, ...times);
}

/** Environment of a broker on free loopback ports. */
export function loopbackEnvironment(folder: string): Readonly<Record<string, string>> {
  return {
    POLYMQ_HOST: '127.0.0.1',
    API_PORT: '0',
    GRPC_PORT: '0',
    REST_PORT: '0',
    CONNECTORS_AWS_PORT: '0',
    CONNECTORS_PUB_SUB_PORT: '0',
    CONNECTORS_AMQP_PORT: '0',
    STORE_PATH: folder,
    LOG_FORMAT: 'json',
  };
}

/** Starts the product as a process and waits for its `ready` line; rejects with its output when it ends before that. */
export async function spawnBroker(options: ProcessOptions): Promise<BrokerProcess> {
  const command = [
    ...(options.wrapper ?? []),
    process.execPath,
    ...(options.nodeFlags ?? []),
    ...programArguments(),
    'serve',
    ...(options.args ?? ['--all']),
  ];
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...loopbackEnvironment(options.folder), ...options.environment },
  });
  living.add(child);
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      living.delete(child);
      resolve({ code, signal });
    });
  });
  let errorOutput = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  const lines: Record<string, unknown>[] = [];
  const ready = readLines(child.stdout, lines, options.line ?? 'ready');

  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  const line = await firstOf(ready, exited, options.readyTimeoutMs ?? 60_000);
  if (line === undefined) {
    await kill();
    throw new Error(
      `the broker did not get ready:\n${lines.map((l) => JSON.stringify(l)).join('\n')}\n${errorOutput}`,
    );
  }
  const addresses = addressesOf(line);
  return {
    pid: child.pid ?? 0,
    addresses,
    port: (name) => {
      const address = addresses.get(name);
      if (address === undefined) throw new Error(`no listener ${name}: ${[...addresses.keys()].join(', ')}`);
      return address.port;
    },
    lines,
    errorOutput: () => errorOutput,
    kill,
    exited,
  };
}

/** Collects JSON lines; resolves with the wanted one. */
function readLines(
  stream: Readable,
  lines: Record<string, unknown>[],
  wanted: string,
): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const line = parsed(part);
        lines.push(line);
        if (line['message'] === wanted) resolve(line);
      }
    });
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}

function addressesOf(line: Record<string, unknown>): Map<string, { host: string; port: number }> {
  return new Map(
    Object.entries(line['addresses'] as Record<string, string>).map(([name, address]) => {
      const colon = address.lastIndexOf(':');
      return [name, { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }];
    }),
  );
}

const LOOK_EVERY_MS = 200;
/** More between two looks, and this process stood still. */
const LOOK_MS_MAX = 1_000;

async function firstOf<T>(
  ready: Promise<T>,
  exited: Promise<unknown>,
  timeoutMs: number,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    let left = timeoutMs;
    let last = performance.now();
    // Time in which the program could run: while this process stood still, it did as well, as a rule.
    timer = setInterval(() => {
      const now = performance.now();
      left -= Math.min(now - last, LOOK_MS_MAX);
      last = now;
      if (left <= 0) resolve(undefined);
    }, LOOK_EVERY_MS);
  });
  try {
    return await Promise.race([ready, exited.then(() => undefined), late]);
  } finally {
    clearInterval(timer);
  }
}
