import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker } from '../support/process.js';

const folder = temporaryFolder();
afterAll(() => folder.remove());

describe.skipIf(process.platform === 'win32')('SIGHUP', () => {
  it('puts a changed policy in force, without a restart', async () => {
    const policy = join(folder.path, 'policy.json');
    const rule = { ClientID: 'ops', Channel: 'a', Queues: true, Write: true };
    writeFileSync(policy, JSON.stringify([rule]));
    const broker = await spawnBroker({
      folder: join(folder.path, 'store'),
      args: [],
      environment: {
        AUTHORIZATION_ENABLE: 'true',
        AUTHORIZATION_FILE_PATH: policy,
        AUTHORIZATION_AUTO_RELOAD: '0',
      },
    });
    const send = async (channel: string): Promise<number> => {
      const url = `http://127.0.0.1:${broker.port('api')}/api/v1/queues/${channel}/messages`;
      const body = JSON.stringify({ messages: [{ body: 'x' }] });
      const headers = { 'content-type': 'application/json', 'x-client-id': 'ops' };
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };
    expect([await send('a'), await send('b')]).toEqual([201, 403]);
    writeFileSync(policy, JSON.stringify([{ ...rule, Channel: 'b' }]));
    process.kill(broker.pid, 'SIGHUP');
    await vi.waitFor(
      () => expect(broker.lines.some((line) => line['message'] === 'reloaded')).toBe(true),
      10_000,
    );
    expect([await send('a'), await send('b')]).toEqual([403, 201]);
    expect(await broker.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
