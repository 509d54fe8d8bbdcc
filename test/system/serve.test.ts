import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import {
  loopbackEnvironment,
  programArguments,
  spawnBroker,
  type BrokerProcess,
} from '../support/process.js';

const folders: { remove(): void }[] = [];
const running: BrokerProcess[] = [];

afterEach(async () => {
  for (const broker of running.splice(0)) await broker.kill();
  for (const folder of folders.splice(0)) folder.remove();
});

function folder(): string {
  const made = temporaryFolder();
  folders.push(made);
  return made.path;
}

async function spawned(...args: Parameters<typeof spawnBroker>): Promise<BrokerProcess> {
  const broker = await spawnBroker(...args);
  running.push(broker);
  return broker;
}

/** Runs a command line to its end. */
async function command(args: readonly string[], environment: Record<string, string> = {}) {
  return new Promise<{ code: number; out: string; error: string }>((resolve) => {
    const env = { ...process.env, ...environment };
    const child = execFile(process.execPath, [...programArguments(), ...args], { env }, (_, out, error) => {
      resolve({ code: child.exitCode ?? -1, out, error });
    });
  });
}

describe('polymq serve, as a process', () => {
  it('takes free ports, says them in one line, and answers on them', async () => {
    const broker = await spawned({ folder: folder() });
    expect([...broker.addresses.keys()].sort()).toEqual([
      'amqp',
      'api',
      'aws',
      'gcp',
      'native-grpc',
      'native-rest',
    ]);
    for (const { host, port } of broker.addresses.values()) {
      expect(host).toBe('127.0.0.1');
      expect(port).toBeGreaterThan(0);
    }
    expect(broker.lines.filter((line) => line['message'] === 'ready')).toHaveLength(1);
    const api = `http://127.0.0.1:${broker.port('api')}`;
    expect((await fetch(`${api}/health`)).status).toBe(200);
    expect((await fetch(`${api}/ready`)).status).toBe(200);
    expect(await (await fetch(`${api}/metrics`)).text()).toContain('polymq_build_info');
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('drains and ends with 0 on %s', async (signal) => {
    const broker = await spawned({ folder: folder() });
    expect(await broker.kill(signal)).toEqual({ code: 0, signal: null });
    expect(broker.lines.map((line) => line['message'])).toEqual(
      expect.arrayContaining(['draining', 'stopped']),
    );
    expect(broker.errorOutput()).toBe('');
  });

  it('starts again on the same store, after a clean end and after a kill', async () => {
    const path = folder();
    const first = await spawned({ folder: path });
    const api = `http://127.0.0.1:${first.port('api')}/api/v1/aliases`;
    const body = JSON.stringify({ alias: 'amqp.default.orders', channel: 'sqs.orders' });
    const answer = await fetch(api, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(201);
    await first.kill('SIGTERM');
    const second = await spawned({ folder: path });
    await second.kill('SIGKILL');
    const third = await spawned({ folder: path });
    const listed = await (await fetch(`http://127.0.0.1:${third.port('api')}/api/v1/aliases`)).json();
    expect(listed).toEqual({ aliases: [JSON.parse(body)] });
  });

  it('refuses a store that another process uses', async () => {
    const path = folder();
    await spawned({ folder: path });
    const second = await command(['serve', '--all'], { ...loopbackEnvironment(path) });
    expect(second.code).toBe(1);
    expect(second.error).toMatch(/cannot start: .*(in use|lock)/i);
  });

  it('names the connector whose port is taken', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const address = blocker.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    try {
      const result = await command(['serve', '--all'], {
        ...loopbackEnvironment(folder()),
        CONNECTORS_AMQP_PORT: port,
      });
      expect(result.code).toBe(1);
      expect(result.error).toMatch(/cannot start: amqp .*EADDRINUSE/);
    } finally {
      blocker.close();
    }
  });

  it('refuses a bad setting with exit code 2 and touches nothing', async () => {
    const result = await command(['serve'], { CONNECTORS_AWS_PORT: 'many' });
    expect(result.code).toBe(2);
    expect(result.error).toBe('polymq: CONNECTORS_AWS_PORT: must be a whole number (0–65535), not "many"\n');
    expect(result.out).toBe('');
  });

  it('warns of a variable that is nearly a setting', async () => {
    const broker = await spawned({ folder: folder(), environment: { CONNECTORS_AWS_PROT: '1' } });
    expect(broker.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', name: 'CONNECTORS_AWS_PROT' }),
    );
  });
});
