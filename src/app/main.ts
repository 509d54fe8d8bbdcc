#!/usr/bin/env -S node --max-semi-space-size=32
import { runProgram } from './cli/program.js';

const code = await runProgram(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
});
// Sockets of clients that linger must not hold the process after everything was closed.
process.exit(code);
