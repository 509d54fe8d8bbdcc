import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../base/log.js';
import { ManualClock } from '../../../base/clock.js';
import { OpenGate, PolicyGate } from '../../../core/access/gatekeeper.js';
import { AccessPolicy } from '../../../core/access/policy.js';
import { openBroker } from '../../../core/broker.js';
import { BrokerError } from '../../../core/errors.js';
import { MemoryJournal } from '../../../journal/memory/index.js';
import { NO_IDENTITY } from '../../kit/identity.js';
import type { Identity } from '../../kit/identity.js';
import { QueueChannelMapping } from '../mapping/queue-channel.js';
import { ConnectorAccess } from './connector-access.js';
import { LocalAccess } from './local-access.js';

const tokens: Identity = {
  required: true,
  known: () => undefined,
  verify: (token) =>
    token.startsWith('token of ')
      ? Promise.resolve(token.slice(9))
      : Promise.reject(new BrokerError('unauthenticated', 'no')),
  watch: () => () => undefined,
};

async function access(identity: Identity, rules?: ConstructorParameters<typeof AccessPolicy>[0]) {
  const broker = await openBroker({ journal: new MemoryJournal(), clock: new ManualClock(), log: silentLog });
  const gate = rules === undefined ? new OpenGate(broker) : new PolicyGate(broker, new AccessPolicy(rules));
  const mapping = new QueueChannelMapping({ defaultVhost: 'default', strict: true });
  return new ConnectorAccess({ local: new LocalAccess(broker, []), identity, gate, mapping });
}

const plain = (user: string, password: string) => ({ mechanism: 'PLAIN', user, password }) as const;

describe('who comes in', () => {
  it('is whom the token names, when tokens are asked for', async () => {
    const one = await access(tokens);
    expect(one.enforced).toBe(true);
    expect(await one.login(plain('whoever', 'token of ann'))).toEqual({ user: 'ann', tags: [] });
    expect(await one.login(plain('ann', 'guess'))).toBeUndefined();
    expect(await one.login({ mechanism: 'EXTERNAL', user: 'cert' })).toEqual({ user: 'cert', tags: [] });
    expect(await one.refresh({ user: 'ann', tags: [] }, 'token of ann')).toBe(true);
    expect(await one.refresh({ user: 'ann', tags: [] }, 'token of bob')).toBe(false);
    expect(one.mayOpen({ user: 'ann', tags: [] }, 'any')).toBe(true);
  });

  it('is anybody, when nothing is asked for', async () => {
    const one = await access(NO_IDENTITY);
    expect(await one.login(plain('guest', 'x'))).toEqual({ user: 'guest', tags: ['administrator'] });
    expect(one.allows({ user: 'guest', tags: [] }, '/', 'configure', 'q')).toBe(true);
  });
});

describe('what may be done', () => {
  it("is what the broker's rules allow on the channel of that name", async () => {
    const kinds = ['queue'] as const;
    const one = await access(tokens, [
      { clientId: 'ann', channel: 'amqp\\.default\\..*', kinds, accesses: ['read'] },
      { clientId: 'ann', channel: 'amqp\\.shop\\.orders', kinds, accesses: ['write'] },
    ]);
    const ann = { user: 'ann', tags: [] };
    expect(one.asksAlways).toBe(true);
    expect(one.allows(ann, '/', 'read', 'q')).toBe(true);
    expect(one.allows(ann, '/', 'write', 'q')).toBe(false);
    expect(one.allows(ann, 'shop', 'write', 'orders')).toBe(true);
    expect(one.allows(ann, 'shop', 'configure', 'other')).toBe(false);
    expect(one.allows({ user: 'bob', tags: [] }, '/', 'read', 'q')).toBe(false);
  });
});
