import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { SystemIds } from '../../base/ids.js';
import { silentLog } from '../../base/log.js';
import { AccessPolicy } from '../../core/access/policy.js';
import { PolicyGate } from '../../core/access/gatekeeper.js';
import { ACCESSES, RESOURCE_KINDS } from '../../core/access/resource.js';
import { openBroker, type OpenBroker } from '../../core/broker.js';
import type { ChannelName } from '../../core/channel-name.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import { authenticationSettings } from '../config/security.js';
import { TokenVerifier } from '../security/token-verifier.js';
import { buildAdmin } from './admin.js';

const SECRET = 'a secret that is long enough for this algorithm: 0123456789';
/** How far the issuer's clock may be from ours. */
const TOLERANCE_MS = 5_000;
const QUEUE = 'q' as ChannelName;
const LOG = 'l' as ChannelName;
const EVERYTHING = [{ clientId: 'me', channel: '.*', kinds: RESOURCE_KINDS, accesses: ACCESSES }];

let clock: ManualClock;
let broker: OpenBroker;
let gate: PolicyGate;
let api: ReturnType<typeof buildAdmin>;
beforeEach(async () => {
  clock = new ManualClock();
  broker = await openBroker({ journal: new MemoryJournal(), clock, log: silentLog });
  await broker.change([
    { do: 'create-queue', channel: QUEUE },
    { do: 'create-log', channel: LOG },
  ]);
  const { jwtConfig } = authenticationSettings.parse({ enable: true, jwtConfig: { key: SECRET } });
  gate = new PolicyGate(broker, new AccessPolicy(EVERYTHING));
  api = buildAdmin({
    gate,
    identity: new TokenVerifier(jwtConfig, clock),
    tls: undefined,
    clock,
    ids: new SystemIds(),
    log: silentLog,
  });
});
afterEach(async () => {
  await api.app.close();
  await broker.close();
});

/** The headers of a client whose token lasts that long. */
async function shown(seconds: number): Promise<{ readonly authorization: string }> {
  const token = await new SignJWT({ ClientID: 'me', exp: Math.floor(clock.now() / 1000) + seconds })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(createSecretKey(Buffer.from(SECRET)));
  return { authorization: `Bearer ${token}` };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

const waiters = () => broker.queueStats(QUEUE)?.waiters;
const readers = () => broker.logStats(LOG)?.subscriptions;
const text = (body: string) => Buffer.from(body);

/** A request that waits, as long as requests may. */
const WAITS = {
  'for messages of a queue': {
    ask: (headers: { readonly authorization: string }) =>
      api.app
        .inject({ method: 'POST', url: '/api/v1/queues/q/receive', headers, payload: { waitMs: 20_000 } })
        .then((answer) => answer),
    waits: () => waiters() === 1,
    send: () => broker.send([{ channel: QUEUE, body: text('x') }]),
    found: { messages: [expect.objectContaining({ body: 'x' })] },
  },
  'for events of a log': {
    ask: (headers: { readonly authorization: string }) =>
      api.app
        .inject({ method: 'GET', url: '/api/v1/logs/l/events?from=1&waitMs=20000', headers })
        .then((answer) => answer),
    waits: () => readers() === 1,
    send: () => broker.append([{ channel: LOG, body: text('x') }]),
    found: { events: [expect.objectContaining({ body: 'x' })], next: 2 },
  },
} as const;

describe.each(Object.entries(WAITS))('a request that waits %s', (_what, { ask, waits, send, found }) => {
  it('ends with its token, and takes nothing', async () => {
    const asked = ask(await shown(10));
    await until(waits);
    clock.advance(10_000 + TOLERANCE_MS - 1);
    expect(waits()).toBe(true);
    clock.advance(1);
    const answer = await asked;
    expect([answer.statusCode, answer.json()]).toEqual([
      401,
      { error: 'unauthenticated', message: 'the token has ended' },
    ]);
    expect(waits()).toBe(false);
    await send();
    const later = await ask(await shown(3600));
    expect([later.statusCode, later.json()]).toEqual([200, expect.objectContaining(found)]);
  });

  it('ends with the right to it', async () => {
    const asked = ask(await shown(3600));
    await until(waits);
    gate.replace(new AccessPolicy([]));
    const answer = await asked;
    expect([answer.statusCode, answer.json()]).toMatchObject([403, { error: 'forbidden' }]);
    expect(waits()).toBe(false);
  });

  it('answered in time leaves nothing behind', async () => {
    const before = clock.pending;
    const asked = ask(await shown(10));
    await until(waits);
    await send();
    const answer = await asked;
    expect([answer.statusCode, answer.json()]).toEqual([200, expect.objectContaining(found)]);
    expect(clock.pending).toBeLessThanOrEqual(before);
  });
});
