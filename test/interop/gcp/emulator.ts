import { spawn } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../support/folder.js';
import { program } from '../../support/foreign.js';
import { freePort } from '../../support/free-port.js';

/** Google's Pub/Sub emulator, when this machine has it (and a Java to run it). */
export interface Emulator {
  readonly port: number;
  stop(): Promise<void>;
}

const START_MS_MAX = 60_000;

/** The jar of the emulator, or undefined. */
export function emulatorJar(): string | undefined {
  if (program('java', '-version') === undefined) return undefined;
  const gcloud = program('gcloud', '');
  const roots = ['/usr/lib/google-cloud-sdk'];
  if (gcloud !== undefined) roots.push(dirname(dirname(realpathSync(gcloud))));
  for (const root of roots) {
    const folder = join(root, 'platform', 'pubsub-emulator', 'lib');
    const jar = existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith('.jar')) : undefined;
    if (jar !== undefined) return join(folder, jar);
  }
  return undefined;
}

export async function startEmulator(jar: string): Promise<Emulator> {
  const port = await freePort();
  const folder = temporaryFolder();
  const java = program('java', '-version') ?? '';
  const args = ['-Xmx512m', '-jar', jar, '--host=127.0.0.1', `--port=${port}`, `--data-dir=${folder.path}`];
  const child = spawn(java, args, { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    folder.remove();
  };
  const end = Date.now() + START_MS_MAX;
  while (!(await listens(port))) {
    if (Date.now() > end || child.exitCode !== null) {
      await stop();
      throw new Error('the emulator did not start');
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { port, stop };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
