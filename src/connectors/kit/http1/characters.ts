/** Bytes of a token: methods and field names (RFC 9110 section 5.6.2). */
export const TOKEN = 1;
/** Bytes of a request target: visible ASCII. */
export const TARGET = 2;
/** Bytes of a field value: visible, space, tab and beyond ASCII; no other control (RFC 9110 section 5.5). */
export const FIELD = 4;

export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;

/** What each byte may be part of. */
export const CLASS_OF_BYTE: Readonly<Uint8Array> = classes();

function classes(): Uint8Array {
  const table = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const visible = byte > 0x20 && byte !== 0x7f;
    const isToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/.test(String.fromCharCode(byte));
    table[byte] =
      (isToken ? TOKEN : 0) |
      (visible && byte < 0x80 ? TARGET : 0) |
      (visible || byte === SPACE || byte === TAB ? FIELD : 0);
  }
  return table;
}
