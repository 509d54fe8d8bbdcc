// What SQS lets through: tab, line feed, carriage return and every Unicode character but the other controls,
// surrogates standing alone, U+FFFE and U+FFFF.
const ILLEGAL = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

// The same for text that is known to be ASCII; much cheaper to run.
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused
const ILLEGAL_ASCII = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** Whether SQS accepts the text as a message body or attribute value. `byteLength`: its length in UTF-8, when known. */
export function isLegalText(text: string, byteLength?: number): boolean {
  return !(byteLength === text.length ? ILLEGAL_ASCII : ILLEGAL).test(text);
}

const ID = /^[A-Za-z0-9!-/:-@[-`{-~]{1,128}$/;

/** Group, deduplication and receive-attempt ids: 1–128 ASCII letters, digits and punctuation. */
export function isLegalId(text: string): boolean {
  return ID.test(text);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** Bytes of standard base64 text (padding may be missing), or undefined. */
export function fromBase64(text: string): Buffer | undefined {
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined;
}
