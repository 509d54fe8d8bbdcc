import { STATUS_CODES } from 'node:http';
import type { Clock } from '../../../base/clock.js';

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [
    Number(status),
    `HTTP/1.1 ${status} ${reason ?? ''}\r\n`,
  ]),
);

export const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

export interface ResponseHead {
  readonly status: number;
  /** Name, value, name, value… */
  readonly headers: readonly string[];
  /** Undefined for answers that have no body by their status. */
  readonly contentLength: number | undefined;
  /** Says that the connection goes on after this answer; else that it ends. */
  readonly keepAlive: boolean;
}

/** Writes heads of answers. The part that is the same for a second is made once a second. */
export class ResponseHeads {
  readonly #clock: Clock;
  #second = Number.NaN;
  #keepAliveEnd = '';
  #closeEnd = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The head with the empty line that ends it, in ASCII. Throws RangeError for a header that would break it. */
  write({ status, headers, contentLength, keepAlive }: ResponseHead): string {
    let out = STATUS_LINES.get(status) ?? `HTTP/1.1 ${status} \r\n`;
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i] ?? '';
      const value = headers[i + 1] ?? '';
      if (!isPlain(name) || !isPlain(value)) throw new RangeError('a header holds a character it cannot');
      out += name + ': ' + value + '\r\n';
    }
    if (contentLength !== undefined) out += 'Content-Length: ' + String(contentLength) + '\r\n';
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) this.#remember(second);
    return out + (keepAlive ? this.#keepAliveEnd : this.#closeEnd);
  }

  #remember(second: number): void {
    this.#second = second;
    const date = `Date: ${new Date(second * 1000).toUTCString()}\r\n`;
    this.#keepAliveEnd = `${date}Connection: keep-alive\r\n\r\n`;
    this.#closeEnd = `${date}Connection: close\r\n\r\n`;
  }
}

/** Printable ASCII alone: nothing that ends a line, and nothing that is more than a byte. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
