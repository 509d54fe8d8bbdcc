import { createSecretKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NativeClient } from '../../support/native-client.js';
import { startServer } from '../../support/server.js';
import { denied, token } from './secured-server.js';

describe('tokens', () => {
  it.each([
    ['RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ])('are verified with a public key (%s), and with no other algorithm', async (algorithm, make) => {
    const { publicKey, privateKey } = make();
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const own = await startServer({
      connectors: ['native'],
      config: {
        authentication: { enable: true, jwtConfig: { key: pem, signatureType: algorithm as 'RS256' } },
      },
    });
    const address = `127.0.0.1:${own.address('native-grpc').port}`;
    const send = async (bearer: string): Promise<unknown> => {
      const client = new NativeClient(address, undefined, { token: bearer });
      try {
        return await client.send({ Channel: 'a', Body: Buffer.from('x') });
      } finally {
        client.close();
      }
    };
    try {
      expect(await send(await token('alice', privateKey, algorithm))).toMatchObject({ IsError: false });
      // The public key as a shared secret: the classic forgery.
      const forged = await token('root', createSecretKey(Buffer.from(pem)), 'HS256');
      expect(await denied(send(forged))).toMatchObject({ code: 16 });
      expect(await denied(send(await token('alice', privateKey, algorithm, '-1m')))).toMatchObject({
        code: 16,
      });
    } finally {
      await own.stop();
    }
  });
});
