/** Bytes of every message body: the size all figures are for. */
export const BODY_BYTES = 1024;

/** Digits at the start of a body that carry its sequence number. */
export const SEQUENCE_DIGITS = 12;

const FILLER = 'The quick brown fox jumps over the lazy dog 0123456789. ';

/** A body of `bytes` plain characters, legal in every protocol: room for the number, then text. */
export function bodyText(bytes: number = BODY_BYTES): string {
  return (
    '0'.repeat(SEQUENCE_DIGITS) +
    FILLER.repeat(Math.ceil(bytes / FILLER.length)).slice(SEQUENCE_DIGITS, bytes)
  );
}

/** Writes `sequence` as decimal digits at `offset`. */
export function writeSequence(target: Uint8Array, offset: number, sequence: number): void {
  let rest = sequence;
  for (let at = offset + SEQUENCE_DIGITS - 1; at >= offset; at--) {
    const next = Math.floor(rest / 10);
    target[at] = 48 + (rest - next * 10);
    rest = next;
  }
}

/** The number at `offset`, or -1 when there are no digits. */
export function readSequence(source: Uint8Array, offset: number): number {
  let sequence = 0;
  for (let at = offset; at < offset + SEQUENCE_DIGITS; at++) {
    const digit = (source[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) return -1;
    sequence = sequence * 10 + digit;
  }
  return sequence;
}
