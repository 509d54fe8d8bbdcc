import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../support/folder.js';
import { program } from '../../support/foreign.js';

export interface GcloudResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The folder of the Google Cloud SDK and a Python for it, or undefined. */
export function gcloudSdk(): { readonly root: string; readonly python: string } | undefined {
  const gcloud = program('gcloud', '');
  if (gcloud === undefined) return undefined;
  const root = dirname(dirname(realpathSync(gcloud)));
  const bundled = join(root, 'platform', 'bundledpythonunix', 'bin', 'python3');
  const python = existsSync(bundled) ? bundled : program('python3');
  return python === undefined || !existsSync(join(root, 'lib', 'googlecloudsdk'))
    ? undefined
    : { root, python };
}

/** Runs `gcloud pubsub …` commands one after the other against a plain-text endpoint. */
export async function gcloudPubsub(
  endpoint: string,
  commands: readonly (readonly string[])[],
): Promise<readonly GcloudResult[]> {
  const sdk = gcloudSdk();
  if (sdk === undefined) throw new Error('there is no gcloud');
  const folder = temporaryFolder();
  const env = {
    PATH: process.env['PATH'],
    CLOUDSDK_CONFIG: folder.path,
    CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
    CLOUDSDK_CORE_PROJECT: 'test-project',
    CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
    CLOUDSDK_CORE_DISABLE_USAGE_REPORTING: 'true',
    CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK: '1',
    CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB: `${endpoint}/`,
  };
  const script = join(import.meta.dirname, 'gcloud-commands.py');
  const child = spawn(sdk.python, [script, sdk.root], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (err += String(chunk)));
  child.stdin.end(JSON.stringify(commands.map((command) => ['pubsub', ...command])));
  const code = await new Promise((resolve) => child.once('close', resolve));
  folder.remove();
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as GcloudResult[];
}
