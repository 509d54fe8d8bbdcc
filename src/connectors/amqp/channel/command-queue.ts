import type { PublishMethod } from '../wire/command-reader.js';
import type { Method } from '../wire/methods.js';

/** A command of one channel, as it came. */
export type Command =
  | { readonly kind: 'method'; readonly method: Method }
  | {
      readonly kind: 'publish';
      readonly publish: PublishMethod;
      readonly properties: Buffer;
      readonly body: Buffer;
    }
  | { readonly kind: 'oversize'; readonly publish: PublishMethod; readonly size: number };

/** What a waiting method counts as, besides its body. */
const COMMAND_BYTES = 256;

/** Commands of one channel that wait until the one before them is done. */
export class CommandQueue {
  /** A command that takes its time is under way. */
  busy = false;
  readonly #waiting: Command[] = [];
  bytes = 0;

  get length(): number {
    return this.#waiting.length;
  }

  push(command: Command): void {
    this.#waiting.push(command);
    this.bytes += sizeOf(command);
  }

  /** The next command, unless one is under way. */
  next(): Command | undefined {
    if (this.busy) return undefined;
    const command = this.#waiting.shift();
    if (command !== undefined) this.bytes -= sizeOf(command);
    return command;
  }

  clear(): void {
    this.#waiting.length = 0;
    this.bytes = 0;
  }
}

function sizeOf(command: Command): number {
  return COMMAND_BYTES + (command.kind === 'publish' ? command.body.length : 0);
}
