import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { delimiter, join } from 'node:path';

/** Processor cores: servers run on the first, generators on the second. */
export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;

const START_SECONDS_MAX = 60;
const STOP_SECONDS_MAX = 15;
const OUTPUT_CHARACTERS_MAX = 8192;

export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly core?: number | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A child with its last output kept. */
export class Child {
  readonly process: ChildProcess;
  output = '';
  #onOutput: (() => void) | undefined;

  constructor({ command, args, core, cwd, env }: SpawnOptions) {
    const pinned = core !== undefined && canPin();
    this.process = spawn(
      pinned ? 'taskset' : command,
      pinned ? ['-c', String(core), command, ...args] : args,
      {
        cwd,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk.toString('utf8')).slice(-OUTPUT_CHARACTERS_MAX);
        this.#onOutput?.();
      });
    }
    this.process.on('error', (error) => (this.output += error.message));
  }

  // taskset replaces itself by the command, so the process is the same.
  get pid(): number {
    return this.process.pid ?? 0;
  }

  get ended(): boolean {
    return (
      this.process.exitCode !== null || this.process.signalCode !== null || this.process.pid === undefined
    );
  }

  /** Waits until `pattern` stands in the output. */
  async says(pattern: RegExp, secondsMax = START_SECONDS_MAX): Promise<RegExpExecArray> {
    const end = performance.now() + secondsMax * 1000;
    for (;;) {
      const found = pattern.exec(this.output);
      if (found !== null) return found;
      if (this.ended) throw new Error(`it ended: ${this.output.slice(-1000)}`);
      if (performance.now() > end) throw new Error(`it did not get ready: ${this.output.slice(-1000)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#onOutput = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** SIGTERM, and SIGKILL when that does not help. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.ended) return;
    const ended = new Promise<void>((resolve) => this.process.once('exit', () => resolve()));
    this.process.kill(signal);
    const timer = setTimeout(() => this.process.kill('SIGKILL'), STOP_SECONDS_MAX * 1000);
    await ended;
    clearTimeout(timer);
  }
}

let pinning: boolean | undefined;

/** Whether processes can be bound to a core here; without it figures still come, less steady. */
export function canPin(): boolean {
  pinning ??= spawnSync('taskset', ['-c', String(GENERATOR_CORE), 'true']).status === 0;
  return pinning;
}

/** Full path of a program on the search path. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** A port nobody listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Waits until something accepts connections at `port`. */
export async function listening(port: number, child: Child): Promise<void> {
  const end = performance.now() + START_SECONDS_MAX * 1000;
  while (!(await accepts(port))) {
    if (child.ended) throw new Error(`it ended: ${child.output.slice(-1000)}`);
    if (performance.now() > end) throw new Error(`it does not listen: ${child.output.slice(-1000)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
