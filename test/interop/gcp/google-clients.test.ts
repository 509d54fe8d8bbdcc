import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { program, pythonWith } from '../../support/foreign.js';
import { startServer } from '../../support/server.js';

const folder = fileURLToPath(new URL('foreign', import.meta.url));
const python = pythonWith('google.cloud.pubsub_v1');
const go = program('go', 'version');
/** Go compiles the client, which takes minutes the first time. */
const TIMEOUT_MS = 900_000;

/** Runs a scenario against a broker of its own; gives what it saw. */
async function seenBy(command: string, args: readonly string[], cwd: string): Promise<unknown> {
  const server = await startServer({ connectors: ['gcp'] });
  const { host, port } = server.address('gcp');
  const output = await new Promise<string>((resolve, reject) => {
    const all = [...args, `${host}:${port}`];
    execFile(command, all, { cwd, timeout: TIMEOUT_MS }, (error, out, errors) => {
      if (error === null) resolve(out);
      else reject(new Error(`${error.message}\n${errors.slice(-4000)}`));
    });
  }).finally(() => server.stop());
  return JSON.parse(output.trim().split('\n').at(-1) ?? '');
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));

describe("Google's clients", () => {
  it.skipIf(python === undefined)(
    'in Python: order, certain acknowledgements, dead letters, filters, seeks, schemas, administration',
    async () => {
      expect(await seenBy(python ?? '', ['scenario.py'], folder)).toEqual({
        ordered: numbers(20),
        confirmed: ['SUCCESS'],
        again: ['OK', 'FAILED_PRECONDITION'],
        back: ['back 0', 'back 0', 'back 1', 'back 2'],
        attempts: [1, 2, 3, 4, 5],
        letter: ['poison', 'bad', '5', 'hard'],
        filtered: ['red', 'red'],
        drained: ['a', 'b'],
        snapshot: ['a', 'b'],
        replayed: ['a', 'b'],
        schema: ['OK', 'INVALID_ARGUMENT'],
        updated: [3600, { who: 'python' }],
        codes: [
          'ALREADY_EXISTS',
          'NOT_FOUND',
          'INVALID_ARGUMENT',
          'INVALID_ARGUMENT',
          'OK',
          'FAILED_PRECONDITION',
        ],
        listed: ['filtered', 'hard', 'letters', 'ordered', 'points', 'sought'],
      });
    },
    TIMEOUT_MS,
  );

  it.skipIf(go === undefined)(
    'in Go: order, certain acknowledgements, one stream however long nothing happens',
    async () => {
      expect(await seenBy(go ?? '', ['run', '.'], `${folder}/go`)).toEqual({
        ordered: { a: numbers(10), b: numbers(10) },
        confirmed: { 0: 20 },
        quiet: ['at last', 1],
        codes: ['AlreadyExists', 'NotFound', 'InvalidArgument', 'NotFound'],
      });
    },
    TIMEOUT_MS,
  );
});
