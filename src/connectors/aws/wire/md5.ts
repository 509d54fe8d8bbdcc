import { hash } from 'node:crypto';

/** MD5 of bytes or of UTF-8 text, 32 hexadecimal digits. */
export function md5Hex(data: string | Uint8Array): string {
  return hash('md5', data, 'hex');
}
