import type { RawAmqp } from '../../../support/raw-amqp.js';
import { table } from '../../../support/raw-amqp.js';
import { bindTo, each } from './probe.js';
import type { Probe, ProbeTools } from './probe.js';

/** A user with these permissions in `/`, and a connection of theirs. */
async function userWith(
  more: ProbeTools,
  name: string,
  permissions: { readonly configure: string; readonly write: string; readonly read: string },
): Promise<RawAmqp> {
  await more.manage('PUT', `users/${name}`, { password: 'p', tags: '' });
  await more.manage('PUT', `permissions/%2F/${name}`, permissions);
  return more.another({ user: [name, 'p'] });
}

const ALL = { configure: '.*', write: '.*', read: '.*' };

/** The refusal of a publish, or what the next declaration answers when there is none. */
async function published(
  raw: RawAmqp,
  routingKey: string,
  options: Parameters<RawAmqp['publish']>[2] = {},
): Promise<string> {
  raw.publish(routingKey, 'x', options);
  return raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 0, global: false });
}

const update = (raw: RawAmqp, secret: string): Promise<string> =>
  raw.call(0, 'connection.update-secret', { newSecret: Buffer.from(secret), reason: 'new' });

/** Who may come in, and what they may do there. */
export const PERMISSIONS_PROBES: Readonly<Record<string, Probe>> = {
  'permissions: what each method asks for': async (one, more) => {
    await one.declare('p.other');
    await one.exchange('p.otherx', 'direct');
    const bob = await userWith(more, 'p.bob', { configure: '^mine', write: '^mine', read: '^mine' });
    const purge = (queue: string) => () => bob.call(1, 'queue.purge', { ticket: 0, queue, nowait: false });
    const remove = (queue: string) => () =>
      bob.call(1, 'queue.delete', { ticket: 0, queue, ifUnused: false, ifEmpty: false, nowait: false });
    const bindX = (source: string, destination: string) => () =>
      bob.call(1, 'exchange.bind', { ...bindTo, source, destination, routingKey: 'k' });
    return each(bob, [
      () => bob.declare('mine.q'),
      () => bob.declare('p.other'),
      () => bob.declare('p.other', { passive: true }),
      () => bob.declare('mine.dlx', { arguments: table({ 'x-dead-letter-exchange': 'p.otherx' }) }),
      () => bob.exchange('mine.x', 'direct'),
      () => bob.exchange('p.otherx', 'direct'),
      () => bob.exchange('mine.ae', 'direct', { arguments: table({ 'alternate-exchange': 'p.otherx' }) }),
      () => bob.bind('mine.q', 'mine.x', 'k'),
      () => bob.bind('mine.q', 'p.otherx', 'k'),
      () => bob.bind('p.other', 'mine.x', 'k'),
      bindX('mine.x', 'p.otherx'),
      bindX('p.otherx', 'mine.x'),
      () => published(bob, 'k', { exchange: 'mine.x' }),
      () => published(bob, 'k', { exchange: 'p.otherx' }),
      () => published(bob, 'mine.q'),
      () => bob.get('mine.q'),
      () => bob.get('p.other'),
      () => bob.consume('mine.q', 't'),
      () => bob.consume('p.other', 't2'),
      purge('mine.q'),
      purge('p.other'),
      remove('p.other'),
      remove('mine.q'),
    ]);
  },
  'permissions: changed while a user is in': async (_one, more) => {
    const bob = await userWith(more, 'p.bobc', ALL);
    const answers = [await bob.declare('p.chg'), await published(bob, 'p.chg')];
    await more.manage('PUT', 'permissions/%2F/p.bobc', { ...ALL, configure: '' });
    // What a channel was allowed it is allowed for a while; a new channel is asked.
    await bob.call(2, 'channel.open', { reserved1: '' });
    answers.push(await bob.declare('p.chg2', {}, 2));
    await bob.close();
    return answers;
  },
  'permissions: topics that may be published to': async (_one, more) => {
    const bob = await userWith(more, 'p.bobt', ALL);
    const answers = [
      await more.manage('PUT', 'topic-permissions/%2F/p.bobt', {
        exchange: 'amq.topic',
        write: '^ok\\.',
        read: '.*',
      }),
    ];
    answers.push(
      ...(await each(bob, [
        () => published(bob, 'ok.a', { exchange: 'amq.topic' }),
        () => published(bob, 'no.a', { exchange: 'amq.topic' }),
        () => published(bob, 'no.a', { exchange: 'amq.direct' }),
        () => bob.exchange('p.topic', 'topic'),
        () => published(bob, 'no.a', { exchange: 'p.topic' }),
      ])),
    );
    const headers = table({ CC: ['no.b'] });
    answers.push(await published(bob, 'ok.a', { exchange: 'amq.topic', properties: { headers } }));
    await bob.close();
    return answers;
  },
  'permissions: topics that may be bound to': async (_one, more) => {
    const bob = await userWith(more, 'p.bobr', ALL);
    await more.manage('PUT', 'topic-permissions/%2F/p.bobr', {
      exchange: 'amq.topic',
      write: '.*',
      read: '^{vhost}-{username}\\.|^a\\.',
    });
    await bob.exchange('p.bobrx', 'topic');
    const unbind = () =>
      bob.call(1, 'queue.unbind', {
        ticket: 0,
        queue: 'p.bobrq',
        exchange: 'amq.topic',
        routingKey: 'b.c',
        arguments: table({}),
      });
    return each(bob, [
      () => bob.declare('p.bobrq'),
      () => bob.bind('p.bobrq', 'amq.topic', 'a.b'),
      () => bob.bind('p.bobrq', 'amq.topic', 'b.c'),
      () => bob.bind('p.bobrq', 'amq.topic', '#'),
      () => bob.bind('p.bobrq', 'amq.topic', '/-p.bobr.x'),
      () => bob.bind('p.bobrq', 'amq.direct', 'b.c'),
      unbind,
      () =>
        bob.call(1, 'exchange.bind', {
          ...bindTo,
          source: 'amq.topic',
          destination: 'p.bobrx',
          routingKey: 'b.c',
        }),
      () => bob.consume('p.bobrq', 't'),
    ]);
  },
  'logins: wrong passwords, unknown users, and virtual hosts of others': async (_one, more) => {
    await more.manage('PUT', 'users/p.in', { password: 'p', tags: '' });
    await more.manage('PUT', 'vhosts/p.others');
    const answers: string[] = [];
    for (const options of [
      { user: ['p.in', 'wrong'] },
      { user: ['p.nobody', 'p'] },
      { user: ['p.in', ''] },
      { user: ['p.in', 'p'] },
      { user: ['p.in', 'p'], vhost: 'p.others' },
    ] as const) {
      const raw = await more.another({ ...options, channel: false });
      answers.push(await raw.answer(2_000));
      await raw.close();
    }
    return answers;
  },
  'a new secret': async (one, more) => {
    const answers = [await update(one, 'guest'), await update(one, 'anything'), await one.declare('p.sec')];
    const bob = await userWith(more, 'p.bobs', ALL);
    answers.push(
      await bob.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.sec',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
    );
    answers.push(await update(bob, ''));
    await bob.close();
    return answers;
  },
  'a user who is taken away': async (_one, more) => {
    const bob = await userWith(more, 'p.bobd', ALL);
    await bob.declare('p.bobd', { exclusive: true });
    const answers = [await more.manage('DELETE', 'users/p.bobd'), await bob.answer()];
    bob.send(0, 'connection.close-ok', {});
    await bob.close();
    const again = await more.another({ user: ['p.bobd', 'p'], channel: false });
    answers.push(await again.answer(2_000));
    await again.close();

    return answers;
  },
  'a virtual host that is taken away': async (_one, more) => {
    await more.manage('PUT', 'vhosts/p.gone');
    await more.manage('PUT', 'permissions/p.gone/guest', ALL);
    const raw = await more.another({ vhost: 'p.gone' });
    await raw.declare('q', { durable: true });
    const answers = [await more.manage('DELETE', 'vhosts/p.gone'), await raw.answer()];
    await raw.close();
    await more.manage('PUT', 'vhosts/p.gone');
    await more.manage('PUT', 'permissions/p.gone/guest', ALL);
    const again = await more.another({ vhost: 'p.gone' });
    answers.push(await again.declare('q', { passive: true }));
    await again.close();
    return answers;
  },
};
