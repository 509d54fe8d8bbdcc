/** A floating-point number as Erlang prints it: the shorter of both notations, always with a point. */
export function erlangFloat(value: number): string {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 ? '-' : '';
  const digits = mantissa.replace('.', '');
  // The number is 0.digits times ten to the place.
  const place = value === 0 ? 1 : Number(exponent) + 1;
  if (place === 0) return `${sign}0.${digits}`;
  if (place > 0 && place < digits.length) return `${sign}${digits.slice(0, place)}.${digits.slice(place)}`;
  const shift = String(place - 1);
  if (place < 0 && -place <= shift.length) return `${sign}0.${'0'.repeat(-place)}${digits}`;
  const zeros = place - digits.length;
  if (place > 0 && zeros + 1 <= shift.length + (digits.length === 1 ? 2 : 1))
    return `${sign}${digits}${'0'.repeat(zeros)}.0`;
  return `${sign}${digits.charAt(0)}.${digits.slice(1) || '0'}e${shift}`;
}

/** Bytes as Erlang prints them: a text when all of them can be printed. */
export function erlangBinary(bytes: Uint8Array): string {
  const printable = bytes.length > 0 && bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  if (!printable) return `<<${bytes.join(',')}>>`;
  return `<<"${Buffer.from(bytes).toString('latin1').replaceAll(/["\\]/g, '\\$&')}">>`;
}
