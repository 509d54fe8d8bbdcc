import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../base/clock.js';
import { SystemIds } from '../../../base/ids.js';
import { silentLog } from '../../../base/log.js';
import { openBroker } from '../../../core/broker.js';
import { MemoryJournal } from '../../../journal/memory/index.js';
import { deliveryChannel } from '../names.js';
import { findToken, isTokenForm, newToken, tokenChange, TokenSweeper } from './tokens.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

const TWO_DAYS_MS = 2 * 24 * 60 * 60 * 1000;

describe('confirmation tokens', () => {
  it('are 288 hexadecimal digits', () => {
    const token = newToken(new SystemIds());
    expect(token).toMatch(/^[0-9a-f]{288}$/);
    expect(isTokenForm(token)).toBe(true);
    expect(isTokenForm(`${token}x`)).toBe(false);
  });

  it('end after two days, and with them what nobody confirmed', async () => {
    const clock = new ManualClock();
    const broker = await openBroker({ journal: new MemoryJournal(), clock, log: silentLog });
    const record = { topic: 't', protocol: 'http', endpoint: 'http://h/', createdAt: 0, attributes: {} };
    const begun = { createdAt: clock.now() };
    await broker.change([
      { do: 'put', kind: SUBSCRIPTION_KIND, key: 't:pending', value: { ...record, pendingToken: 'a' } },
      { do: 'put', kind: SUBSCRIPTION_KIND, key: 't:confirmed', value: record },
      { do: 'create-queue', channel: deliveryChannel('t:pending') },
      { do: 'create-queue', channel: deliveryChannel('t:confirmed') },
      tokenChange('a', { subscription: 't:pending', ...begun }),
      tokenChange('b', { subscription: 't:confirmed', ...begun }),
    ]);
    const sweeper = new TokenSweeper(broker, clock, silentLog);
    sweeper.start();
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    await settled();
    clock.advance(TWO_DAYS_MS - 1);
    await settled();
    expect(findToken(broker, 'a', clock.now())).toBeDefined();
    expect(findToken(broker, 'a', clock.now() + 1)).toBeUndefined();
    expect(broker.registry.list(SUBSCRIPTION_KIND)).toHaveLength(2);
    clock.advance(10 * 60 * 1000);
    for (let i = 0; i < 10; i++) await settled();
    expect(broker.registry.list(SUBSCRIPTION_KIND).map(({ key }) => key)).toEqual(['t:confirmed']);
    expect(broker.registry.list('aws.subscription-token')).toEqual([]);
    expect(broker.queueStats(deliveryChannel('t:pending'))).toBeUndefined();
    expect(broker.queueStats(deliveryChannel('t:confirmed'))).toBeDefined();
    await sweeper.stop();
    expect(clock.pending).toBe(0);
    await broker.close();
  });
});
