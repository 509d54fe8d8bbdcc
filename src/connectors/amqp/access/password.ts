import { createHash, timingSafeEqual } from 'node:crypto';

/** RabbitMQ's hashing modules, as its definitions files name them. */
const HASHES: Readonly<Record<string, string>> = {
  rabbit_password_hashing_sha256: 'sha256',
  rabbit_password_hashing_sha512: 'sha512',
  rabbit_password_hashing_md5: 'md5',
};

export const DEFAULT_HASHING = 'rabbit_password_hashing_sha256';

const SALT_BYTES = 4;

/** base64 of the salt and the hash of salt and password, as RabbitMQ keeps it. `salt`: four random bytes. */
export function hashPassword(password: string, salt: Uint8Array, hashing = DEFAULT_HASHING): string {
  return Buffer.concat([salt, digest(password, salt, hashing)]).toString('base64');
}

/** Whether a password is the one that was hashed. An empty hash fits none. */
export function fitsPassword(password: string, hash: string, hashing: string): boolean {
  const bytes = Buffer.from(hash, 'base64');
  if (bytes.length <= SALT_BYTES || !Object.hasOwn(HASHES, hashing)) return false;
  const salt = bytes.subarray(0, SALT_BYTES);
  const wanted = bytes.subarray(SALT_BYTES);
  const got = digest(password, salt, hashing);
  return got.length === wanted.length && timingSafeEqual(got, wanted);
}

export function isKnownHashing(hashing: string): boolean {
  return Object.hasOwn(HASHES, hashing);
}

function digest(password: string, salt: Uint8Array, hashing: string): Buffer {
  return createHash(HASHES[hashing] ?? 'sha256')
    .update(salt)
    .update(password, 'utf8')
    .digest();
}
