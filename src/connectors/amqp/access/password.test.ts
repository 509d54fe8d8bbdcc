import { describe, expect, it } from 'vitest';
import { fitsPassword, hashPassword } from './password.js';

describe('password hashes', () => {
  it("are RabbitMQ's", () => {
    // From its documentation of password hashing: salt 908D C60A, password `test12`.
    const hash = hashPassword('test12', Buffer.from('908dc60a', 'hex'));
    expect(hash).toBe('kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR');
    expect(fitsPassword('test12', hash, 'rabbit_password_hashing_sha256')).toBe(true);
    expect(fitsPassword('test13', hash, 'rabbit_password_hashing_sha256')).toBe(false);
  });

  it('of other kinds work, and what is none fits nothing', () => {
    for (const hashing of ['rabbit_password_hashing_sha512', 'rabbit_password_hashing_md5']) {
      const hash = hashPassword('secret', Buffer.from([1, 2, 3, 4]), hashing);
      expect(fitsPassword('secret', hash, hashing)).toBe(true);
      expect(fitsPassword('secret', hash, 'rabbit_password_hashing_sha256')).toBe(false);
    }
    for (const hash of ['', 'AAAA', 'no base64 at all!']) {
      expect(fitsPassword('', hash, 'rabbit_password_hashing_sha256')).toBe(false);
    }
    expect(fitsPassword('x', hashPassword('x', Buffer.alloc(4)), 'unknown')).toBe(false);
  });
});
