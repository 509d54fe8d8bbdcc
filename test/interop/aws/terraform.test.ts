import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ListTopicsCommand } from '@aws-sdk/client-sns';
import { DeleteQueueCommand, ListQueuesCommand } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/folder.js';
import { program } from '../../support/foreign.js';
import { CREDENTIALS, startAwsServer } from './aws-server.js';

/** A folder of providers as Terraform mirrors them, with `hashicorp/aws` in it: its registry may not be in reach. */
const mirror = process.env['POLYMQ_TERRAFORM_MIRROR'];
const terraform = program('terraform', 'version');
/** The provider reads what it changed until it is sure: minutes for each stage. */
const TIMEOUT_MS = 3_600_000;
/** What `plan -detailed-exitcode` says when there is nothing to do, and when there is. */
const [NOTHING, SOMETHING] = [0, 2];

it.skipIf(terraform === undefined || mirror === undefined)(
  'Terraform makes, changes, imports and destroys queues, topics, subscriptions and policies, and finds them as it left them',
  async () => {
    const server = await startAwsServer({
      // The provider takes no ARN whose region has another form than AWS's.
      config: { region: 'us-east-1', credentials: [{ ...CREDENTIALS }] },
    });
    const folder = temporaryFolder();
    cpSync(join(import.meta.dirname, 'programs', 'terraform'), folder.path, { recursive: true });
    const settings = join(folder.path, 'terraform.rc');
    writeFileSync(
      settings,
      `provider_installation {\n  filesystem_mirror { path = ${JSON.stringify(mirror)} }\n}\n`,
    );
    const run = (args: readonly string[]): Promise<number> =>
      new Promise((resolve, reject) => {
        const env = { ...process.env, TF_CLI_CONFIG_FILE: settings, CHECKPOINT_DISABLE: '1' };
        execFile(
          terraform ?? '',
          args,
          { cwd: folder.path, env, maxBuffer: 64 * 1024 * 1024 },
          (error, out, errors) => {
            const code = error === null ? NOTHING : Number(error.code);
            if (code === NOTHING || code === SOMETHING) resolve(code);
            else reject(new Error(`terraform ${args[0] ?? ''}: ${errors}\n${out}`));
          },
        );
      });
    const staged = (stage: number, command: string, ...more: string[]): Promise<number> =>
      run([command, `-var=url=${server.url}`, `-var=stage=${stage}`, '-no-color', ...more]);
    const plan = (stage: number) => staged(stage, 'plan', '-detailed-exitcode');
    const apply = (stage: number) => staged(stage, 'apply', '-auto-approve');
    try {
      await run(['init', '-no-color']);
      for (const stage of [1, 2, 1]) {
        await apply(stage);
        expect(await plan(stage)).toBe(NOTHING);
      }
      // It sees what somebody else took away, and makes it again.
      await server.sqs.send(new DeleteQueueCommand({ QueueUrl: 'tf-kms' }));
      expect(await plan(1)).toBe(SOMETHING);
      await apply(1);
      await run(['state', 'rm', 'aws_sqs_queue.dead']);
      await staged(1, 'import', 'aws_sqs_queue.dead', `${server.url}/000000000000/tf-dead`);
      expect(await plan(1)).toBe(NOTHING);
      // A topic that archives cannot be deleted.
      await apply(2);
      await staged(2, 'destroy', '-auto-approve');
      expect((await server.sqs.send(new ListQueuesCommand({}))).QueueUrls).toBeUndefined();
      expect((await server.sns.send(new ListTopicsCommand({}))).Topics).toEqual([]);
    } finally {
      await server.stop();
      folder.remove();
    }
  },
  TIMEOUT_MS,
);
