const KEEP = /^[A-Za-z0-9_-]*$/;

/** Percent-encodes every UTF-8 byte outside `[a-zA-Z0-9_-]`, upper-case hex: the sub-channel grammar of the channel mappings. */
export function percentEncode(text: string): string {
  if (KEEP.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const keep =
      (byte >= 0x30 && byte <= 0x39) ||
      (byte >= 0x41 && byte <= 0x5a) ||
      (byte >= 0x61 && byte <= 0x7a) ||
      byte === 0x5f ||
      byte === 0x2d;
    out += keep ? String.fromCharCode(byte) : '%' + byte.toString(16).toUpperCase().padStart(2, '0');
  }
  return out;
}

/** Reverses `percentEncode`; undefined when `text` is not its output. */
export function percentDecode(text: string): string | undefined {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '%') {
      bytes.push(text.charCodeAt(i));
      continue;
    }
    const hex = text.slice(i + 1, i + 3);
    if (!/^[0-9A-F]{2}$/.test(hex)) return undefined;
    bytes.push(parseInt(hex, 16));
    i += 2;
  }
  const decoded = Buffer.from(bytes).toString('utf8');
  return percentEncode(decoded) === text ? decoded : undefined;
}
