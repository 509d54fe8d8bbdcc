import type { Clock } from '../../base/clock.js';

/** What a command line gets from its process, so that tests can run commands without one. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  /** Somebody looks at it, so progress may be shown. */
  readonly interactive?: boolean;
  /** Standard input. */
  readonly input: () => AsyncIterable<Buffer>;
  /** Standard input is somebody at a keyboard, who must be told that they are waited for. */
  readonly typed?: boolean;
  readonly clock: Clock;
  /** From now on Ctrl-C does not end the process: it aborts what comes back, as does an output that nobody reads any more. */
  readonly interruption?: () => AbortSignal;
}

/** Exit codes of the program. */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** Wrong flags or a bad configuration: nothing was started. */
  usage: 2,
  /** There was nothing to receive or to look at. */
  empty: 3,
} as const;

/** A command ends with this code; `lines` say why. */
export class CommandFailure extends Error {
  readonly code: number;
  readonly lines: readonly string[];

  constructor(code: number, lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'CommandFailure';
    this.code = code;
    this.lines = lines;
  }
}
