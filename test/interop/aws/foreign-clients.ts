import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { program, pythonWith } from '../../support/foreign.js';
import { freePort } from '../../support/free-port.js';
import { CREDENTIALS } from './aws-server.js';

const run = promisify(execFile);
export const boto = pythonWith('boto3');
export const moto = boto === undefined ? undefined : pythonWith('moto');
export const cli = program('aws');

const environment = {
  ...process.env,
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_DEFAULT_OUTPUT: 'json',
  AWS_EC2_METADATA_DISABLED: 'true',
};

/** What each step of a scenario came to, by its name. */
export type Transcript = Record<string, unknown>;

/** Runs a scenario beside this file with boto3 against the server at `url`. */
export async function scenario(script: string, url: string): Promise<Transcript> {
  const path = join(import.meta.dirname, script);
  const { stdout } = await run(boto ?? '', [path, url], { env: environment });
  return JSON.parse(stdout) as Transcript;
}

/** The same scenario against moto. */
export async function scenarioWithMoto(script: string): Promise<Transcript> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(moto ?? '', ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
    env: environment,
  });
  try {
    await answers(`${url}/moto-api/`, () => child.exitCode !== null);
    return await scenario(script, url);
  } finally {
    child.kill();
  }
}

/** One command of the AWS CLI; gives what it printed. */
export async function awsCli(url: string, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(cli ?? '', ['--endpoint-url', url, ...args], { env: environment });
  return stdout === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>);
}

/** Waits until a server answers. */
async function answers(url: string, ended: () => boolean): Promise<void> {
  for (;;) {
    if (ended()) throw new Error('the server ended');
    try {
      await fetch(url);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
