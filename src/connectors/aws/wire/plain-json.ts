const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * Bytes of the strings of one field, as they stand in JSON text that holds no backslash and is ASCII: the bodies of
 * messages need no copy then. `json` was parsed already, so it is well formed, and each quote begins or ends a string.
 * Undefined when the text does not hold the field's name exactly `count` times: then a name of this kind is somewhere
 * else too, and which string is whose cannot be told.
 *
 * @param field the name with its quotes
 */
export function plainStringsOf(json: Buffer, field: Buffer, count: number): readonly Buffer[] | undefined {
  const found: Buffer[] = [];
  let at = json.indexOf(field);
  while (at >= 0) {
    if (found.length === count) return undefined;
    const start = stringAfter(json, at + field.length);
    if (start < 0) return undefined;
    const end = json.indexOf(QUOTE, start);
    found.push(json.subarray(start, end));
    at = json.indexOf(field, end + 1);
  }
  return found.length === count ? found : undefined;
}

/** Where the string begins that is the value behind a name; -1 when something else comes there. */
function stringAfter(json: Buffer, from: number): number {
  let at = from;
  let colon = false;
  for (;;) {
    const byte = json[at++];
    if (byte === QUOTE) return colon ? at : -1;
    if (byte === COLON && !colon) colon = true;
    else if (byte === undefined || byte > SPACE) return -1;
  }
}
