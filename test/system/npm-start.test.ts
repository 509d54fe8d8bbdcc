import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import { loopbackEnvironment } from '../support/process.js';

/** It compiles first, on a machine that may have other things to do. */
const BUILD_MS_MAX = 600_000;

const root = join(import.meta.dirname, '../..');

describe('npm start', () => {
  it.each([
    // As an init system or a container sends it: it must reach the broker behind the shell.
    { how: 'a SIGTERM to npm', stop: (npm: ChildProcess) => npm.kill('SIGTERM') },
    // It goes to the whole process group, and npm passes its own on: the broker hears it twice.
    { how: 'Ctrl-C', stop: (npm: ChildProcess) => process.kill(-(npm.pid ?? NaN), 'SIGINT') },
  ])(
    'builds what it needs, serves every connector, and ends with 0 on $how',
    { timeout: BUILD_MS_MAX },
    async ({ stop }) => {
      const store = temporaryFolder();
      const npm = spawn('npm', ['start'], {
        cwd: root,
        // A process group of its own.
        detached: true,
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
        stop(npm);
        expect(await closed).toBe(0);
        expect(output).toMatch(/"message":"draining"[\s\S]*"message":"stopped"/);
      } finally {
        if (npm.exitCode === null && npm.pid !== undefined) process.kill(-npm.pid, 'SIGKILL');
        store.remove();
      }
    },
  );
});
