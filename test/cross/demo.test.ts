import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../src/app/index.js';
import { startServer } from '../support/server.js';

let broker: RunningBroker;
beforeAll(async () => {
  broker = await startServer();
});
afterAll(() => broker.stop());

function demo(environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--no-warnings', '--import', 'tsx', 'scripts/demo.ts'], {
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, ...environment },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describe('npm run demo', () => {
  it('shows that every pair works, and leaves nothing behind', async () => {
    const port = (name: string): string => String(broker.address(name).port);
    const { code, output } = await demo({
      POLYMQ_HOST: '127.0.0.1',
      API_PORT: port('api'),
      GRPC_PORT: port('native-grpc'),
      CONNECTORS_AWS_PORT: port('aws'),
      CONNECTORS_PUB_SUB_PORT: port('gcp'),
      CONNECTORS_AMQP_PORT: port('amqp'),
    });
    expect(output).toContain('All 20 pairs work.');
    expect(output.match(/\bok\b/g)).toHaveLength(20);
    expect(code).toBe(0);
    expect(broker.broker.queues('')).toEqual([]);
    expect(broker.broker.aliases()).toEqual([]);
  });

  it('says what to do when no broker runs', async () => {
    const { code, output } = await demo({ POLYMQ_HOST: '127.0.0.1', API_PORT: '1' });
    expect(code).toBe(1);
    expect(output).toContain('npm start');
  });
});
