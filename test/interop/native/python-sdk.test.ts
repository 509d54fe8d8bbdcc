import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { pythonWith } from '../../support/foreign.js';
import { startNativeServer } from './native-server.js';

const scenario = fileURLToPath(new URL('foreign/scenario.py', import.meta.url));
const python = pythonWith('kubemq');

/** The Python SDK as published (`pip install kubemq==4.1.5`), where a Python has it. */
describe.skipIf(python === undefined)('the Python SDK', () => {
  it('manages channels, sends, subscribes, asks, answers and polls', async () => {
    const server = await startNativeServer();
    const seen = await new Promise<string>((resolve, reject) => {
      execFile(python ?? '', [scenario, server.address], { timeout: 90_000 }, (error, out, errors) => {
        if (error === null) resolve(out);
        else reject(new Error(`${error.message}\n${errors}`));
      });
    }).finally(() => server.stop());
    const channels = ['events', 'events_store', 'commands', 'queries', 'queues'];
    expect(JSON.parse(seen.trim().split('\n').at(-1) ?? '')).toEqual({
      version: expect.stringMatching(/^3\./) as string,
      channels: channels.map((kind) => [true, [`python.${kind}`], true]),
      event: [['e.1', 'x', 'm', 'b']],
      stored: [
        [1, '1'],
        [2, '2'],
      ],
      command: [false, 'no'],
      query: ['X', 'X'],
      poll: [
        ['1', 1],
        ['2', 1],
      ],
      rest: [
        ['3', 1],
        ['2', 2],
      ],
    });
  });
});
