import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';

const OUTPUT_LINES_MAX = 400;

const living = new Set<ChildProcessByStdio<null, Readable, Readable>>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** One program on one machine, that can be killed, frozen and started again. */
export class Machine {
  readonly name: string;
  readonly #command: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcessByStdio<null, Readable, Readable> | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** The newest lines that it wrote, over all its lives. */
  readonly output: string[] = [];
  /** An end that nobody asked for. */
  crashed: string | undefined;

  constructor(name: string, command: readonly string[], environment: NodeJS.ProcessEnv) {
    this.name = name;
    this.#command = command;
    this.#environment = environment;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  start(): void {
    if (this.#child !== undefined) return;
    const [program = '', ...args] = this.#command;
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: this.#environment });
    this.#child = child;
    living.add(child);
    for (const stream of [child.stdout, child.stderr]) this.#keep(stream);
    this.#exited = new Promise((resolve) =>
      child.once('close', (code, signal) => {
        living.delete(child);
        // Whoever ends it on purpose forgets it first.
        if (this.#child === child) {
          this.#child = undefined;
          this.crashed = `${this.name} ended by itself: ${code ?? signal ?? ''}`;
        }
        resolve();
      }),
    );
  }

  /** Freezes and thaws it, for instance; a stopped program ends with `end`. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.kill(signal);
    await this.#exited;
  }

  #keep(stream: Readable): void {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      this.output.push(...parts);
      if (this.output.length > OUTPUT_LINES_MAX) this.output.splice(0, this.output.length - OUTPUT_LINES_MAX);
    });
  }
}
