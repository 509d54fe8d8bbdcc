import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BrokerError } from '../../../src/core/errors.js';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';

const users = [{ name: 'guest', password: 'guest' }];

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer({ config: { users, managementEnable: true, managementPort: 0 } });
});
afterAll(async () => {
  await server.stop();
  expect(server.logged).toEqual([]);
});

const opened: RawAmqp[] = [];
const open = async (options: Parameters<typeof RawAmqp.open>[1]): Promise<RawAmqp> => {
  const raw = await RawAmqp.open(server.port, options);
  opened.push(raw);
  return raw;
};

afterEach(async () => {
  server.faults.holdCommits = false;
  server.journal.commit();
  for (const raw of opened.splice(0)) await raw.close();
  await expect.poll(() => server.connector.status().connections).toBe(0);
});

/** Clients whose declarations have been read, each on a connection of its own: the answer to it, as soon as there is one. */
async function declaring(vhost: string, queues: readonly string[]): Promise<readonly Promise<string>[]> {
  const answers: Promise<string>[] = [];
  for (const queue of queues) {
    const raw = await open({ vhost });
    const first = raw.declare(queue, { durable: true });
    const second = raw.call(2, 'channel.open', { reserved1: '' });
    // Another channel does not wait for the first one: what came before its answer was read.
    if ((await first) === 'channel.open-ok @2') answers.push(second);
    else {
      answers.push(first);
      await second;
    }
  }
  return answers;
}

async function names(vhost: string): Promise<readonly string[]> {
  const queues = (await get(server, `queues/${vhost}?columns=name&sort=name`)) as { name: string }[];
  return queues.map(({ name }) => name);
}

describe('queues of a virtual host', () => {
  it('that are declared at the same time are no more than it may have', async () => {
    await call(server, 'PUT', 'vhosts/race', {});
    await call(server, 'PUT', 'permissions/race/guest', { configure: '.*', write: '.*', read: '.*' });
    await call(server, 'PUT', 'vhost-limits/race/max-queues', { value: 2 });
    server.faults.holdCommits = true;
    const answers = await declaring('race', ['a', 'b', 'b', 'c', 'd']);
    server.faults.holdCommits = false;
    server.journal.commit();
    const refused = (name: string): string =>
      `CH 406 PRECONDITION_FAILED - cannot declare queue '${name}': queue limit in vhost 'race' (2) is reached [50.10]`;
    expect(await Promise.all(answers)).toEqual([
      'queue.declare-ok a 0 0',
      'queue.declare-ok b 0 0',
      'queue.declare-ok b 0 0',
      refused('c'),
      refused('d'),
    ]);
    expect(await names('race')).toEqual(['a', 'b']);
    // A place is free again when its queue is gone.
    const raw = await open({ vhost: 'race' });
    await raw.call(1, 'queue.delete', {
      ticket: 0,
      queue: 'a',
      ifUnused: false,
      ifEmpty: false,
      nowait: false,
    });
    expect(await raw.declare('c', { durable: true })).toBe('queue.declare-ok c 0 0');
    expect(await raw.declare('d', { durable: true })).toBe(refused('d'));
  });

  it('that could not be made keep no place', async () => {
    await call(server, 'PUT', 'vhosts/fails', {});
    await call(server, 'PUT', 'permissions/fails/guest', { configure: '.*', write: '.*', read: '.*' });
    await call(server, 'PUT', 'vhost-limits/fails/max-queues', { value: 1 });
    server.faults.holdCommits = true;
    const [answer] = await declaring('fails', ['a']);
    server.faults.failNextGroup = new BrokerError('unavailable', 'the disk is gone');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await answer).toMatch(/^CH 506|^CONN/);
    const raw = await open({ vhost: 'fails' });
    expect(await raw.declare('b', { durable: true })).toBe('queue.declare-ok b 0 0');
  });
});

describe('connections and channels that are opened at the same time', () => {
  /** Of how many at once the answer was one of these. */
  const count = (answers: readonly string[], text: string): number =>
    answers.filter((answer) => answer.includes(text)).length;

  it('are no more than a virtual host and a user may have', async () => {
    await call(server, 'PUT', 'users/bob', { password: 'b', tags: '' });
    for (const vhost of ['crowd', 'own'])
      await call(server, 'PUT', `vhosts/${vhost}`, {}).then(() =>
        call(server, 'PUT', `permissions/${vhost}/bob`, { configure: '.*', write: '.*', read: '.*' }),
      );
    await call(server, 'PUT', 'vhost-limits/crowd/max-connections', { value: 3 });
    await call(server, 'PUT', 'user-limits/bob/max-connections', { value: 5 });
    const user = ['bob', 'b'] as const;
    const connect = async (vhost: string): Promise<string> => {
      const raw = await open({ vhost, user, channel: false });
      return raw.answer(100);
    };
    const crowd = await Promise.all(Array.from({ length: 10 }, () => connect('crowd')));
    expect(count(crowd, '(silence)')).toBe(3);
    expect(
      count(crowd, "access to vhost 'crowd' refused for user 'bob': connection limit (3) is reached"),
    ).toBe(7);
    const own = await Promise.all(Array.from({ length: 10 }, () => connect('own')));
    expect(count(own, '(silence)')).toBe(2);
    expect(count(own, "connection refused for user 'bob': user connection limit (5) is reached")).toBe(8);
  });

  it('are no more channels than a user may have', async () => {
    await call(server, 'PUT', 'users/eve', { password: 'e', tags: '' });
    await call(server, 'PUT', 'permissions/%2F/eve', { configure: '.*', write: '.*', read: '.*' });
    await call(server, 'PUT', 'user-limits/eve/max-channels', { value: 4 });
    const clients = await Promise.all(
      Array.from({ length: 8 }, () => open({ user: ['eve', 'e'], channel: false })),
    );
    const answers = await Promise.all(
      clients.map((client) => client.call(1, 'channel.open', { reserved1: '' })),
    );
    expect(count(answers, 'channel.open-ok')).toBe(4);
    expect(count(answers, "number of channels opened for user 'eve' has reached")).toBe(4);
  });
});
