import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { natsMissing, startNats } from '../support/nats-server.js';

const root = join(import.meta.dirname, '../..');

/** Some of every protocol; `npm run test:cluster` runs them all. */
const SUITES = [
  'test/cross/any-to-any.test.ts',
  'test/interop/security/tls.test.ts',
  'test/interop/aws/sqs-sdk.test.ts',
  'test/interop/gcp/exactly-once.test.ts',
  'test/interop/amqp/transactions.test.ts',
  'test/interop/native/stream-queue-message.test.ts',
];

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** Runs test files against a cluster whose clients come to the node that owns nothing. */
function run(natsUrl: string, paths: readonly string[]): Promise<Run> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--maxWorkers=1', '--reporter=json', ...paths], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, POLYMQ_TEST_CLUSTER: natsUrl },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.resume();
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

describe.skipIf(natsMissing !== undefined)('through a node that owns nothing', () => {
  it('clients of every protocol find what they find on one machine', { timeout: 300_000 }, async () => {
    const nats = await startNats({ servers: 3 });
    try {
      const { code, output } = await run(nats.url, SUITES);
      const report = JSON.parse(output.slice(output.indexOf('{'))) as Report;
      const failed = report.testResults
        .flatMap(({ assertionResults }) => assertionResults)
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0] ?? ''}`);
      expect(failed).toEqual([]);
      expect(code).toBe(0);
      expect(report.numPassedTests).toBeGreaterThan(100);
    } finally {
      await nats.stop();
    }
  });
});
