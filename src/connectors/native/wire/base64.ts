/** Standard base64, with or without its padding; undefined for anything else. */
export function fromBase64(text: string): Buffer | undefined {
  let { length } = text;
  while (length > 0 && text.charCodeAt(length - 1) === PAD && text.length - length < 2) length--;
  if (length % 4 === 1 || (length < text.length && text.length % 4 !== 0)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  // The decoder passes over what is no base64: fewer bytes come out then. It also takes the letters of URLs.
  if (bytes.length !== Math.floor((length * 3) / 4)) return undefined;
  return text.includes('-') || text.includes('_') ? undefined : bytes;
}

const PAD = 0x3d;
