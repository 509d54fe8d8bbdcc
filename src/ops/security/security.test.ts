import { createSecretKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestAuthority, writePems } from '../../../test/support/certificates.js';
import { temporaryFolder } from '../../../test/support/folder.js';
import { ManualClock } from '../../base/clock.js';
import { silentLog, type Log } from '../../base/log.js';
import type { Broker } from '../../core/broker-api.js';
import type { ChannelName } from '../../core/channel-name.js';
import { authenticationSettings, authorizationSettings, securitySettings } from '../config/security.js';
import { readPolicy } from './policy-text.js';
import { openSecurity, type Security } from './security.js';
import { TokenVerifier } from './token-verifier.js';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => (folder = temporaryFolder()));
afterEach(() => folder.remove());

const SECRET = 'a secret that is long enough for this algorithm: 0123456789';
const rule = (more: object) => ({ ClientID: 'c', Channel: 'q', Queues: true, Read: true, ...more });

describe('a policy text', () => {
  it('is JSON or YAML, with names in any case', () => {
    const json = readPolicy('p', JSON.stringify([rule({})]));
    expect(json.ruleCount).toBe(1);
    const yaml = readPolicy('p', '- client_id: c\n  channel: q\n  events_store: true\n  write: true\n');
    expect(yaml.grantsOf('c').of('q')).not.toBe(0);
    expect(yaml.grantsOf('c').of('r')).toBe(0);
    expect(yaml.grantsOf('d').of('q')).toBe(0);
  });

  it.each([
    ['{', /^p: neither JSON nor YAML/],
    ['{}', /^p: must be a list of rules$/],
    ['[1]', /^p: rule 1: /],
    [JSON.stringify([rule({}), rule({ Channel: '(' })]), /^p: rule 2, Channel: is no regular expression$/],
    [JSON.stringify([rule({ Qeues: true })]), /^p: rule 1: .*Qeues/],
    [JSON.stringify([rule({ Read: 'yes' })]), /^p: rule 1, Read: /],
    [JSON.stringify([{ Channel: 'q' }]), /^p: rule 1, ClientID: /],
  ])('%s is refused by name', (text, why) => {
    expect(() => readPolicy('p', text)).toThrow(why);
  });
});

describe('tokens', () => {
  const clock = new ManualClock();
  const key = createSecretKey(Buffer.from(SECRET));
  const config = authenticationSettings.parse({ enable: true, jwtConfig: { key: SECRET } }).jwtConfig;
  const sign = (claims: Record<string, unknown>, alg = 'HS256'): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg }).sign(key);
  const seconds = (): number => Math.floor(clock.now() / 1000);

  it('are good until they end, also once they are known', async () => {
    const verifier = new TokenVerifier(config, clock);
    const token = await sign({ ClientID: 'alice', exp: seconds() + 60 });
    expect(verifier.known(token)).toBeUndefined();
    expect(await verifier.verify(token)).toBe('alice');
    expect(verifier.known(token)).toBe('alice');
    clock.advance(66_000);
    expect(verifier.known(token)).toBeUndefined();
    await expect(verifier.verify(token)).rejects.toMatchObject({ kind: 'unauthenticated' });
  });

  it.each([
    [
      'of another key',
      async () =>
        new SignJWT({ ClientID: 'a' }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from('x'.repeat(40))),
    ],
    ['of another algorithm', () => sign({ ClientID: 'a' }, 'HS512')],
    ['without a ClientID', () => sign({ sub: 'a' })],
    ['with an empty ClientID', () => sign({ ClientID: '' })],
    ['that begins later', () => sign({ ClientID: 'a', nbf: seconds() + 60 })],
    [
      'unsigned',
      async () =>
        `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"ClientID":"a"}').toString('base64url')}.`,
    ],
    ['nonsense', async () => 'nonsense'],
    ['too long', async () => 'x'.repeat(20_000)],
  ])('%s are refused, all alike', async (_name, make) => {
    const verifier = new TokenVerifier(config, clock);
    await expect(verifier.verify(await make())).rejects.toMatchObject({ message: 'the token is not valid' });
  });

  it('are unknown after the key changed', async () => {
    const file = join(folder.path, 'key');
    writeFileSync(file, SECRET);
    const verifier = new TokenVerifier({ ...config, key: '', filePath: file }, clock);
    const token = await sign({ ClientID: 'alice' });
    await verifier.verify(token);
    expect(verifier.refresh()).toBe(false);
    expect(verifier.known(token)).toBe('alice');
    writeFileSync(file, `${SECRET} and another`);
    expect(verifier.refresh()).toBe(true);
    expect(verifier.known(token)).toBeUndefined();
    await expect(verifier.verify(token)).rejects.toThrow();
  });

  describe('that something began with', () => {
    const file = (): string => join(folder.path, 'watched-key');
    const watched = async (claims: Record<string, unknown>) => {
      writeFileSync(file(), SECRET);
      const own = new ManualClock(clock.now());
      const verifier = new TokenVerifier({ ...config, key: '', filePath: file() }, own);
      const bearer = await sign({ ClientID: 'alice', ...claims });
      await verifier.verify(bearer);
      let ends = 0;
      const forget = verifier.watch(bearer, () => ends++);
      return { own, verifier, bearer, forget, ends: () => ends };
    };
    /** Verifying takes turns of the event loop. */
    const settled = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
    };

    it('end it in their time, once', async () => {
      const { own, ends } = await watched({ exp: seconds() + 60 });
      own.advance(64_999);
      expect(ends()).toBe(0);
      own.advance(1);
      expect(ends()).toBe(1);
      own.advance(100_000);
      expect([ends(), own.pending]).toEqual([1, 0]);
    });

    it('may last longer than a timer can be set for', async () => {
      const years = 3 * 365 * 86_400;
      const { own, ends } = await watched({ exp: seconds() + years });
      own.advance(years * 1000);
      expect(ends()).toBe(0);
      own.advance(5_000);
      expect(ends()).toBe(1);
    });

    it('never end it without an end of their own, nor when it ended before', async () => {
      const endless = await watched({});
      expect(endless.own.pending).toBe(0);
      const { own, forget, ends } = await watched({ exp: seconds() + 60 });
      forget();
      expect(own.pending).toBe(0);
      own.advance(100_000);
      expect([ends(), endless.ends()]).toEqual([0, 0]);
    });

    it('end it when the key changes to one that they are not signed with', async () => {
      const { own, verifier, bearer, ends } = await watched({ exp: seconds() + 60 });
      // Looked at again, and still good.
      writeFileSync(file(), `${SECRET}\n`);
      expect(verifier.refresh()).toBe(true);
      await verifier.verify(bearer);
      expect(ends()).toBe(0);
      writeFileSync(file(), `${SECRET} and another`);
      expect(verifier.refresh()).toBe(true);
      await settled(() => ends() > 0);
      expect([ends(), own.pending]).toEqual([1, 0]);
    });
  });

  it('need a key that fits the algorithm', () => {
    expect(() => new TokenVerifier({ ...config, signatureType: 'RS256' }, clock)).toThrow(
      /^AUTHENTICATION_JWT_CONFIG_KEY: no RS256/,
    );
    expect(() => new TokenVerifier({ ...config, key: '', filePath: '/nowhere' }, clock)).toThrow(
      /^AUTHENTICATION_JWT_CONFIG_FILE_PATH: \/nowhere cannot be read/,
    );
  });
});

describe('security', () => {
  const broker = { baseOf: (name: ChannelName) => name } as unknown as Broker;

  async function secured(policy: string): Promise<{
    readonly security: Security;
    readonly clock: ManualClock;
    readonly logged: string[];
  }> {
    const filePath = join(folder.path, 'policy');
    writeFileSync(filePath, policy);
    const clock = new ManualClock();
    const logged: string[] = [];
    const note = (message: string): void => void logged.push(message);
    const log: Log = { ...silentLog, info: note, error: note };
    const config = {
      security: securitySettings.parse({}),
      authentication: authenticationSettings.parse({ jwtConfig: {} }),
      authorization: authorizationSettings.parse({ enable: true, filePath, autoReload: 5 }),
    };
    return { security: await openSecurity({ config, clock, log }), clock, logged };
  }

  it('looks at its files from time to time, and keeps the old policy when the new one is no good', async () => {
    const { security, clock, logged } = await secured(JSON.stringify([rule({})]));
    const client = security.gateOf(broker).clientOf('c');
    const may = (): boolean => client.sees('queue', 'q' as ChannelName);
    security.start();
    expect(may()).toBe(true);
    writeFileSync(join(folder.path, 'policy'), '[');
    clock.advance(5_000);
    clock.advance(5_000);
    expect(may()).toBe(true);
    // Said once, not at every look.
    expect(logged).toEqual(['cannot reload; the old one stays in force']);
    writeFileSync(join(folder.path, 'policy'), '[]');
    clock.advance(5_000);
    expect(may()).toBe(false);
    expect(logged.at(-1)).toBe('reloaded');
    security.stop();
    expect(clock.pending).toBe(0);
  });

  it('looks at certificate files from time to time, and keeps the old ones while the new ones do not fit together', async () => {
    const authority = await TestAuthority.create();
    const [first, second] = await Promise.all([authority.server(), authority.server()]);
    const { certificate, key } = first;
    const files = writePems(folder.path, { certificate, key });
    const clock = new ManualClock();
    const logged: string[] = [];
    const log: Log = { ...silentLog, error: (message) => void logged.push(message) };
    const config = {
      security: securitySettings.parse({
        certFilename: files.certificate,
        keyFilename: files.key,
        autoReload: 5,
      }),
      authentication: authenticationSettings.parse({ jwtConfig: {} }),
      authorization: authorizationSettings.parse({}),
    };
    const security = await openSecurity({ config, clock, log });
    let changes = 0;
    security.tls?.onChange(() => changes++);
    security.start();
    clock.advance(5_000);
    expect(changes).toBe(0);
    writeFileSync(files.certificate, second.certificate);
    clock.advance(5_000);
    expect([changes, security.tls?.credentials.certificate]).toEqual([0, certificate]);
    expect(logged).toEqual(['cannot reload; the old one stays in force']);
    writeFileSync(files.key, second.key);
    clock.advance(5_000);
    expect([changes, security.tls?.credentials.certificate]).toEqual([1, second.certificate]);
    security.stop();
    expect(clock.pending).toBe(0);
  });

  it('refuses to start with a policy that is no good', async () => {
    await expect(secured('[1]')).rejects.toThrow(/rule 1/);
  });
});
