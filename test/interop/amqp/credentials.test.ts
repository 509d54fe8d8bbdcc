import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { authenticationSettings } from '../../../src/ops/config/security.js';
import { TokenVerifier } from '../../../src/ops/security/token-verifier.js';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call } from './management-call.js';

const SECRET = 'a secret that is long enough for this algorithm: 0123456789';
/** Clocks may differ by so much. */
const TOLERANCE_MS = 5_000;

let clock: ManualClock;
let server: AmqpServer;
beforeEach(async () => {
  clock = new ManualClock(1_700_000_000_000);
  const { jwtConfig } = authenticationSettings.parse({ enable: true, jwtConfig: { key: SECRET } });
  server = await startAmqpServer({ clock, identity: new TokenVerifier(jwtConfig, clock) });
});
afterEach(() => server.stop());

const token = (client: string, lastsMs: number): Promise<string> =>
  new SignJWT({ ClientID: client, exp: Math.floor((clock.now() + lastsMs) / 1000) })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(createSecretKey(Buffer.from(SECRET)));

const login = async (lastsMs: number): Promise<RawAmqp> =>
  RawAmqp.open(server.port, { user: ['any', await token('ann', lastsMs)] });

const update = (raw: RawAmqp, secret: string): Promise<string> =>
  raw.call(0, 'connection.update-secret', { newSecret: Buffer.from(secret), reason: 'it ends soon' });

const EXPIRED = 'CONN 320 CONNECTION_FORCED - credential expired [0.0]';

describe('a connection lasts as long as its token', () => {
  it('and is closed then: what it held goes back', async () => {
    const raw = await login(60_000);
    await raw.declare('jobs', { durable: true });
    await raw.consume('jobs', 't');
    raw.publish('jobs', 'work');
    expect(await raw.answer()).toContain('"work"');
    clock.advance(60_000 + TOLERANCE_MS - 1);
    expect(await raw.declare('jobs', { passive: true })).toBe('queue.declare-ok jobs 0 1');
    clock.advance(1);
    expect(await raw.answer()).toBe(EXPIRED);
    const other = await login(600_000);
    expect(await other.get('jobs')).toContain('redelivered /jobs +0 "work"');
    await other.close();
    await raw.close();
  });

  it('unless it shows another one in time', async () => {
    const raw = await login(60_000);
    clock.advance(59_000);
    expect(await update(raw, await token('ann', 600_000))).toBe('connection.update-secret-ok');
    clock.advance(500_000);
    expect(await raw.declare('later')).toBe('queue.declare-ok later 0 0');
    clock.advance(105_000);
    expect(await raw.answer()).toBe(EXPIRED);
    await raw.close();
  });

  it('a secret that is no good, or somebody else’s, ends it at once', async () => {
    for (const secret of ['nonsense', await token('bob', 600_000), await token('ann', -60_000)]) {
      const raw = await login(60_000);
      expect(await update(raw, secret)).toBe(
        'CONN 530 NOT_ALLOWED - New secret was refused by one of the backends [10.70]',
      );
      await raw.close();
    }
  });

  it('and leaves no timer behind when it ends before', async () => {
    const before = clock.pending;
    const raw = await login(60_000);
    await raw.call(0, 'connection.close', {
      replyCode: 200,
      replyText: '',
      failedClassId: 0,
      failedMethodId: 0,
    });
    await raw.close();
    await expect.poll(() => clock.pending).toBe(before);
  });
});

it('a user who is taken away is sent away, others stay', async () => {
  const users = [{ name: 'guest', password: 'guest' }];
  const managed = await startAmqpServer({ config: { users, managementEnable: true, managementPort: 0 } });
  await call(managed, 'PUT', 'users/bob', { password: 'b', tags: '' });
  await call(managed, 'PUT', 'permissions/%2F/bob', { configure: '.*', write: '.*', read: '.*' });
  const bob = await RawAmqp.open(managed.port, { user: ['bob', 'b'] });
  const guest = await RawAmqp.open(managed.port);
  expect(await bob.declare('of.bob')).toBe('queue.declare-ok of.bob 0 0');
  expect((await call(managed, 'DELETE', 'users/bob')).status).toBe(204);
  expect(await bob.answer()).toBe("CONN 320 CONNECTION_FORCED - user 'bob' is deleted [0.0]");
  expect(await guest.declare('of.bob')).toBe('queue.declare-ok of.bob 0 0');
  await bob.close();
  await guest.close();
  await managed.stop();
});
