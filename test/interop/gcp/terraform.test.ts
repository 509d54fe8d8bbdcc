import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/folder.js';
import { program } from '../../support/foreign.js';
import { startServer } from '../../support/server.js';

/** The folder of a `terraform-provider-google` built from its source: Terraform's own registry may not be in reach. */
const provider = process.env['POLYMQ_TERRAFORM_PROVIDER'];
const terraform = program('terraform', 'version');
const TIMEOUT_MS = 300_000;
/** What `plan -detailed-exitcode` says when there is nothing to do, and when there is. */
const [NOTHING, SOMETHING] = [0, 2];

it.skipIf(terraform === undefined || provider === undefined)(
  'Terraform makes, changes, imports and destroys topics, subscriptions, schemas and policies, and finds them as it left them',
  async () => {
    const server = await startServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
    const { port } = server.address('gcp');
    const folder = temporaryFolder();
    cpSync(join(import.meta.dirname, 'foreign', 'terraform'), folder.path, { recursive: true });
    const settings = join(folder.path, 'terraform.rc');
    const overrides = `dev_overrides { "hashicorp/google" = ${JSON.stringify(provider)} }`;
    writeFileSync(settings, `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
    const run = (stage: number, command: string, ...more: string[]): Promise<number> =>
      new Promise((resolve, reject) => {
        const variables = command === 'state' ? [] : [`-var=port=${port}`, `-var=stage=${stage}`];
        const args = [command, ...(command === 'state' ? more : [...variables, '-no-color', ...more])];
        const env = { ...process.env, TF_CLI_CONFIG_FILE: settings, CHECKPOINT_DISABLE: '1' };
        execFile(terraform ?? '', args, { cwd: folder.path, env }, (error, out, errors) => {
          const code = error === null ? NOTHING : Number(error.code);
          if (code === NOTHING || code === SOMETHING) resolve(code);
          else reject(new Error(`terraform ${command}: ${errors}\n${out}`));
        });
      });
    const plan = (stage: number) => run(stage, 'plan', '-detailed-exitcode');
    const apply = (stage: number) => run(stage, 'apply', '-auto-approve');
    try {
      for (const stage of [1, 2, 1]) {
        await apply(stage);
        expect(await plan(stage)).toBe(NOTHING);
      }
      // It sees what somebody else took away, and makes it again.
      const base = `http://127.0.0.1:${port}/v1/projects/tf-project`;
      expect((await fetch(`${base}/subscriptions/tf-bare`, { method: 'DELETE' })).status).toBe(200);
      expect(await plan(1)).toBe(SOMETHING);
      await apply(1);
      // What has no labels is imported as it was made.
      await run(1, 'state', 'rm', 'google_pubsub_schema.avro');
      await run(1, 'import', 'google_pubsub_schema.avro', 'projects/tf-project/schemas/tf-avro');
      expect(await plan(1)).toBe(NOTHING);
      await run(1, 'destroy', '-auto-approve');
      for (const kind of ['topics', 'subscriptions', 'schemas']) {
        expect(await (await fetch(`${base}/${kind}`)).json()).toEqual({});
      }
    } finally {
      await server.stop();
      folder.remove();
    }
  },
  TIMEOUT_MS,
);
