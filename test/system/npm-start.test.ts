import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import { loopbackEnvironment } from '../support/process.js';

const root = join(import.meta.dirname, '../..');

describe('npm start', () => {
  // The signal goes to npm, as an init system or a container sends it: it must reach the broker behind the shell.
  it('builds what it needs, serves every connector, and ends with 0 on SIGTERM', async () => {
    const store = temporaryFolder();
    const npm = spawn('npm', ['start'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...loopbackEnvironment(store.path) },
    });
    let output = '';
    const ready = new Promise<void>((resolve, reject) => {
      npm.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('"message":"ready"')) resolve();
      });
      npm.on('close', () => reject(new Error(`it ended: ${output}`)));
    });
    try {
      await ready;
      const closed = new Promise<number | null>((resolve) => npm.on('close', resolve));
      npm.kill('SIGTERM');
      expect(await closed).toBe(0);
      expect(output).toMatch(/"message":"draining"[\s\S]*"message":"stopped"/);
    } finally {
      npm.kill('SIGKILL');
      store.remove();
    }
  });
});
