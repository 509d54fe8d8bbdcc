import type { RawAmqp } from '../../../support/raw-amqp.js';
import { each } from './probe.js';
import type { Probe, ProbeTools } from './probe.js';

/** A virtual host that `guest` may use. */
async function freshVhost({ manage }: ProbeTools, name: string): Promise<void> {
  await manage('PUT', `vhosts/${name}`);
  await manage('PUT', `permissions/${name}/guest`, { configure: '.*', write: '.*', read: '.*' });
}

/** The answer to connection.open when it refuses, else `open`; and the connection. */
async function opened(more: ProbeTools, options: Parameters<ProbeTools['another']>[0]) {
  const raw = await more.another({ ...options, channel: false });
  const answer = await raw.answer(100);
  return { raw, answer: answer === '(silence)' ? 'open' : answer };
}

const channels = async (raw: RawAmqp, ...numbers: number[]): Promise<string[]> => {
  const answers: string[] = [];
  for (const number of numbers) answers.push(await raw.call(number, 'channel.open', { reserved1: '' }));
  return answers;
};

/** Bounds that administrators set for virtual hosts and users. */
export const LIMITS_PROBES: Readonly<Record<string, Probe>> = {
  'limits of a virtual host: queues': async (_one, more) => {
    await freshVhost(more, 'p.lq');
    const answers = [await more.manage('PUT', 'vhost-limits/p.lq/max-queues', { value: 2 })];
    const raw = await more.another({ vhost: 'p.lq' });
    answers.push(
      ...(await each(raw, [
        () => raw.declare('one'),
        () => raw.declare('two'),
        () => raw.declare('two'),
        () => raw.declare('three'),
        () => raw.declare('three', { passive: true }),
      ])),
    );
    answers.push(await more.manage('DELETE', 'vhost-limits/p.lq/max-queues'), await raw.declare('three'));
    answers.push(await more.manage('PUT', 'vhost-limits/p.lq/max-queues', { value: 0 }));
    answers.push(...(await each(raw, [() => raw.declare('four'), () => raw.declare('one')])));
    answers.push(
      await more.manage('PUT', 'vhost-limits/p.lq/max-queues', { value: -1 }),
      await raw.declare('five'),
    );
    await raw.close();
    return answers;
  },
  'limits of a virtual host: connections': async (_one, more) => {
    await freshVhost(more, 'p.lc');
    const answers = [await more.manage('PUT', 'vhost-limits/p.lc/max-connections', { value: 1 })];
    const first = await opened(more, { vhost: 'p.lc' });
    const second = await opened(more, { vhost: 'p.lc' });
    answers.push(first.answer, second.answer);
    await second.raw.close();
    await more.manage('PUT', 'vhost-limits/p.lc/max-connections', { value: 0 });
    const third = await opened(more, { vhost: 'p.lc' });
    answers.push(third.answer, ...(await channels(first.raw, 1)));
    await third.raw.close();
    await more.manage('DELETE', 'vhost-limits/p.lc/max-connections');
    const fourth = await opened(more, { vhost: 'p.lc' });
    answers.push(fourth.answer);
    await fourth.raw.close();
    await first.raw.close();
    return answers;
  },
  'limits of a user: connections': async (_one, more) => {
    await more.manage('PUT', 'users/p.luc', { password: 'p', tags: '' });
    await more.manage('PUT', 'permissions/%2F/p.luc', { configure: '.*', write: '.*', read: '.*' });
    const answers = [await more.manage('PUT', 'user-limits/p.luc/max-connections', { value: 1 })];
    const user = ['p.luc', 'p'] as const;
    const first = await opened(more, { user });
    const second = await opened(more, { user });
    answers.push(first.answer, second.answer);
    await second.raw.close();
    await more.manage('DELETE', 'user-limits/p.luc/max-connections');
    const third = await opened(more, { user });
    answers.push(third.answer);
    await third.raw.close();
    await first.raw.close();
    return answers;
  },
  'limits of a user: channels': async (_one, more) => {
    await more.manage('PUT', 'users/p.luch', { password: 'p', tags: '' });
    await more.manage('PUT', 'permissions/%2F/p.luch', { configure: '.*', write: '.*', read: '.*' });
    const answers = [await more.manage('PUT', 'user-limits/p.luch/max-channels', { value: 2 })];
    const user = ['p.luch', 'p'] as const;
    const first = await more.another({ user });
    const second = await more.another({ user });
    answers.push(...(await channels(first, 2)), await first.answer(100));
    await more.manage('PUT', 'user-limits/p.luch/max-channels', { value: -1 });
    const third = await more.another({ user });
    answers.push(...(await channels(third, 2, 3)));
    for (const raw of [first, second, third]) await raw.close();
    return answers;
  },
};
