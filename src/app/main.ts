#!/usr/bin/env -S node --max-semi-space-size=32
import './young-generation.js';
import { SystemClock } from '../base/clock.js';
import { runProgram } from './cli/program.js';

const code = await runProgram(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
  interactive: process.stderr.isTTY,
  input: () => process.stdin,
  typed: process.stdin.isTTY,
  clock: new SystemClock(),
  interruption: () => {
    const interrupted = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
    // Its reader has gone, such as `head`.
    process.stdout.once('error', () => interrupted.abort());
    return interrupted.signal;
  },
});
// Sockets of clients that linger must not hold the process after everything was closed.
process.exit(code);
