import { createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { selfSignedCertificate, toPem } from './certificate.js';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

function certificate(notBefore: string, notAfter: string): X509Certificate {
  const fields = {
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    commonName: 'signing of ü',
    serial: Buffer.from('0102030405', 'hex'),
    notBefore: Date.parse(notBefore),
    notAfter: Date.parse(notAfter),
  };
  return new X509Certificate(
    toPem(selfSignedCertificate(fields, (bytes) => sign('sha256', bytes, privateKey))),
  );
}

describe('a self-signed certificate', () => {
  it('is read by OpenSSL with all that was put in, and verifies itself', () => {
    const read = certificate('2026-01-02T03:04:05Z', '2056-01-02T03:04:05Z');
    expect(read.subject).toBe('CN=signing of ü');
    expect(read.issuer).toBe(read.subject);
    expect(read.serialNumber).toBe('0102030405');
    expect(read.validFrom).toBe('Jan  2 03:04:05 2026 GMT');
    expect(read.validTo).toBe('Jan  2 03:04:05 2056 GMT');
    expect(read.ca).toBe(false);
    expect(read.verify(publicKey)).toBe(true);
    expect(read.publicKey.export({ type: 'spki', format: 'der' })).toEqual(
      createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    );
  });

  it('is not what another key signed', () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(certificate('2026-01-02T03:04:05Z', '2049-12-31T23:59:59Z').verify(other.publicKey)).toBe(false);
  });
});
