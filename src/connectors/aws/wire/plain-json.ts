const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;

/** JSON text without the strings of one field, and those strings. */
export interface CutJson {
  /** The same text with `""` in each string's place: it is well formed when the whole is, and only then. */
  readonly text: string;
  /** As they stand in the bytes, in their order. */
  readonly strings: readonly Buffer[];
}

/**
 * Takes the strings of one field out of JSON that is ASCII and holds no backslash: the bodies of messages need neither parsing nor a
 * copy then. Each quote begins or ends a string there, so what is cut lies between two neighbouring quotes, and all that remains reads
 * as before. (Where the name does not stand in a string, it is no JSON, with the cut and without.) Undefined when the field is
 * not there, is something else than a string somewhere, or a string holds what JSON forbids in one.
 *
 * @param field the name with its quotes
 */
export function cutStrings(json: Buffer, field: Buffer): CutJson | undefined {
  let name = json.indexOf(field);
  if (name < 0) return undefined;
  const strings: Buffer[] = [];
  const view = new DataView(json.buffer, json.byteOffset, json.length);
  let text = '';
  let kept = 0;
  while (name >= 0) {
    const start = stringAfter(json, name + field.length);
    if (start < 0) return undefined;
    const end = json.indexOf(QUOTE, start);
    if (end < 0 || hasControls(view, start, end)) return undefined;
    strings.push(json.subarray(start, end));
    text += json.toString('latin1', kept, start);
    kept = end;
    name = json.indexOf(field, end + 1);
  }
  return { text: text + json.toString('latin1', kept), strings };
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

/** Whether ASCII holds a control character that JSON forbids in a string: one below the space. */
function hasControls(view: DataView, start: number, end: number): boolean {
  let at = start;
  // Four at a time: the high bit of a difference shows a byte that was too small.
  for (; at + 4 <= end; at += 4) {
    const four = view.getInt32(at);
    if (((four - 0x20202020) & ~four & 0x80808080) !== 0) return true;
  }
  for (; at < end; at++) if (view.getUint8(at) < SPACE) return true;
  return false;
}
