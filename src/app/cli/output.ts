/** What a command line gets from its process, so that tests can run commands without one. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
}

/** Exit codes of the program. */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** Wrong flags or a bad configuration: nothing was started. */
  usage: 2,
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
