import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../../support/foreign.js';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';

/*
 * Amazon's SDKs for Java 2 and Go v2, each with its own program, against an endpoint that checks signatures. By hand, with
 * POLYMQ_EXAMPLES=all: they are compiled and bring hundreds of packages.
 */
const run = promisify(execFile);
const programs = join(import.meta.dirname, 'programs');
const TIMEOUT_MS = 600_000;

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer({ config: { credentials: [{ ...CREDENTIALS }] } });
});
afterAll(() => server.stop());

const SDKS = [
  {
    name: 'Java 2',
    tool: 'mvn',
    version: '--version',
    folder: 'java',
    args: ['-q', '-B', 'compile', 'exec:java'],
  },
  { name: 'Go v2', tool: 'go', version: 'version', folder: 'go', args: ['run', '.'] },
];

describe.each(SDKS)('the SDK for $name', ({ tool, version, folder, args }) => {
  const found = program(tool, version);

  it.skipIf(found === undefined)('lives through a queue and a topic', { timeout: TIMEOUT_MS }, async () => {
    const { stdout } = await run(found ?? '', args, {
      cwd: join(programs, folder),
      env: {
        ...process.env,
        AWS_ENDPOINT_URL: server.url,
        AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      },
      timeout: TIMEOUT_MS,
    });
    expect(stdout).toContain('lived');
  });
});
