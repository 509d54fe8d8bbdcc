/** Reply codes with the names RabbitMQ puts before its texts (AMQP 0-9-1 §1.2 and its errata). */
export const REPLY_NAMES = {
  200: 'REPLY_SUCCESS',
  311: 'CONTENT_TOO_LARGE',
  312: 'NO_ROUTE',
  313: 'NO_CONSUMERS',
  320: 'CONNECTION_FORCED',
  402: 'INVALID_PATH',
  403: 'ACCESS_REFUSED',
  404: 'NOT_FOUND',
  405: 'RESOURCE_LOCKED',
  406: 'PRECONDITION_FAILED',
  501: 'FRAME_ERROR',
  502: 'SYNTAX_ERROR',
  503: 'COMMAND_INVALID',
  504: 'CHANNEL_ERROR',
  505: 'UNEXPECTED_FRAME',
  506: 'RESOURCE_ERROR',
  530: 'NOT_ALLOWED',
  540: 'NOT_IMPLEMENTED',
  541: 'INTERNAL_ERROR',
} as const;

export type ReplyCode = keyof typeof REPLY_NAMES;

/** Longest text of a short string, in bytes. */
const SHORT_STRING_BYTES_MAX = 255;

/** Codes that close one channel; all others close the connection. */
const SOFT: ReadonlySet<ReplyCode> = new Set<ReplyCode>([311, 312, 313, 403, 404, 405, 406]);

/** The method a refusal is about, as close frames name it. */
export interface Culprit {
  readonly classId: number;
  readonly methodId: number;
}

export interface ReplyErrorOptions extends ErrorOptions {
  /** Overrides the code's usual scope, e.g. 403 of a refused login. */
  readonly hard?: boolean;
  /** Given when the refused frame itself says it; else whoever carries out the method knows. */
  readonly culprit?: Culprit;
}

/** A refusal in AMQP's own words. Thrown anywhere below a connection, which turns it into channel.close or connection.close. */
export class ReplyError extends Error {
  readonly code: ReplyCode;
  readonly hard: boolean;

  readonly culprit: Culprit | undefined;

  constructor(code: ReplyCode, explanation: string, options: ReplyErrorOptions = {}) {
    super(explanation, options);
    this.name = 'ReplyError';
    this.code = code;
    this.hard = options.hard ?? !SOFT.has(code);
    this.culprit = options.culprit;
  }

  /** `NAME - explanation`, cut to what a short string holds. */
  get replyText(): string {
    return shortText(`${REPLY_NAMES[this.code]} - ${this.message}`);
  }
}

/** `text` cut to 255 bytes of UTF-8, with `...` at the end when something was cut. */
export function shortText(text: string): string {
  if (Buffer.byteLength(text) <= SHORT_STRING_BYTES_MAX) return text;
  let cut = text.slice(0, SHORT_STRING_BYTES_MAX - 3);
  while (Buffer.byteLength(cut) > SHORT_STRING_BYTES_MAX - 3) cut = cut.slice(0, -1);
  // Never end in half of a surrogate pair.
  if (/[\ud800-\udbff]$/.test(cut)) cut = cut.slice(0, -1);
  return `${cut}...`;
}
