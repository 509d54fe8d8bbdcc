import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { SystemIds } from '../../base/ids.js';
import { silentLog } from '../../base/log.js';
import { NO_IDENTITY } from '../../connectors/kit/identity.js';
import { OpenGate } from '../../core/access/gatekeeper.js';
import type { Alias, Broker } from '../../core/broker-api.js';
import { channelName, type ChannelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { Change } from '../../core/registry/types.js';
import { buildAdmin } from './admin.js';

/** The few calls of the facade that the API makes. */
function fakeBroker(): { broker: Broker; changes: Change[] } {
  const aliases: Alias[] = [];
  const changes: Change[] = [];
  const names = ['sqs.a', 'sqs.b', 'gcp.sub.c'].map(channelName);
  const part: Partial<Broker> = {
    aliases: () => aliases,
    resolve: (name) => name,
    queues: (prefix) => names.filter((name) => name.startsWith(prefix)),
    queueStats: (channel: ChannelName) => ({ channel, ready: 3 }) as ReturnType<Broker['queueStats']>,
    change: async (asked) => {
      changes.push(...asked);
      for (const change of asked) {
        if (change.do === 'set-alias' && names.includes(change.alias)) {
          throw new BrokerError('already-exists', `${change.alias} is a channel of its own`);
        }
        if (change.do === 'set-alias') aliases.push({ alias: change.alias, channel: change.channel });
        if (change.do === 'remove-alias') aliases.splice(0);
      }
      return [];
    },
  };
  return { broker: part as Broker, changes };
}

describe('the admin API', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(async () => {
    for (const app of opened.splice(0)) await app.close();
  });

  function build() {
    const { broker, changes } = fakeBroker();
    const { app } = buildAdmin({
      gate: new OpenGate(broker),
      identity: NO_IDENTITY,
      tls: undefined,
      clock: new ManualClock(),
      ids: new SystemIds(),
      log: silentLog,
    });
    opened.push(app);
    return { app, changes };
  }

  it('adds, lists and removes an alias', async () => {
    const { app } = build();
    const payload = { alias: 'amqp.default.orders', channel: 'sqs.orders' };
    expect((await app.inject({ method: 'POST', url: '/api/v1/aliases', payload })).statusCode).toBe(201);
    expect((await app.inject('/api/v1/aliases')).json()).toEqual({ aliases: [payload] });
    const url = '/api/v1/aliases/amqp.default.orders';
    expect((await app.inject({ method: 'DELETE', url })).statusCode).toBe(204);
    expect((await app.inject({ method: 'DELETE', url })).statusCode).toBe(404);
  });

  it('takes the same alias twice but not to another channel', async () => {
    const { app, changes } = build();
    const add = (channel: string) =>
      app.inject({ method: 'POST', url: '/api/v1/aliases', payload: { alias: 'x', channel } });
    expect((await add('sqs.orders')).statusCode).toBe(201);
    expect((await add('sqs.orders')).statusCode).toBe(201);
    expect(changes).toHaveLength(1);
    expect((await add('sqs.other')).statusCode).toBe(409);
  });

  it.each([
    [{ alias: 'a b', channel: 'c' }, 400],
    [{ alias: 'a' }, 400],
    [{ alias: 'a', channel: 'b', more: 1 }, 400],
    ['not json', 400],
    [{ alias: 'sqs.a', channel: 'b' }, 409],
  ])('refuses %j with %j', async (payload, status) => {
    const answer = await build().app.inject({
      method: 'POST',
      url: '/api/v1/aliases',
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.statusCode).toBe(status);
    expect(answer.json().message).toEqual(expect.any(String));
  });

  it('lists queues by prefix', async () => {
    const answer = await build().app.inject('/api/v1/queues?prefix=sqs.');
    expect(answer.json()).toEqual({
      queues: [
        { channel: 'sqs.a', ready: 3 },
        { channel: 'sqs.b', ready: 3 },
      ],
      more: false,
    });
  });

  it('reads names as long as names may be', async () => {
    const { app } = build();
    // The longest one, each of its bytes escaped.
    const url = `/api/v1/aliases/${encodeURIComponent('é'.repeat(512))}`;
    const answer = await app.inject({ method: 'DELETE', url });
    expect(answer.json().message).toMatch(/^there is no alias é+$/);
  });

  it('says what it does not know', async () => {
    const answer = await build().app.inject('/nowhere?token=1');
    expect(answer.statusCode).toBe(404);
    expect(answer.json().message).toBe('there is no GET /nowhere');
  });
});
