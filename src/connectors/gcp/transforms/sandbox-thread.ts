import { TRANSFORM_LIMITS } from './limits.js';

/** One function to run: its code is the key to the context it lives in. */
export interface SandboxFunction {
  readonly name: string;
  readonly code: string;
}

/** What a function made of an input: its result as JSON (`null` filters), or why it failed. */
export type SandboxResult =
  { readonly kind: 'result'; readonly json: string } | { readonly kind: 'failed'; readonly reason: string };

/** To the thread. Input and results are JSON text: no object ever crosses into a context. */
export interface SandboxRequest {
  readonly fn: SandboxFunction;
  /** JSON of `[message, metadata]`; undefined: only see whether the function is there. */
  readonly input: string | undefined;
}

/**
 * The program of the thread that runs users' functions, in plain JavaScript, because a thread starts from source text whether this
 * module is compiled or not. Each function has a `node:vm` context of its own with nothing in it but the language: no Node API, no
 * code from strings, no WebAssembly. What is left of Node in the thread itself is taken away before the first function runs.
 */
export const SANDBOX_SOURCE = `'use strict';
const { parentPort } = require('node:worker_threads');
const vm = require('node:vm');
const { isNativeError, isProxy } = require('node:util').types;
const { getHeapStatistics } = require('node:v8');
const limits = ${JSON.stringify(TRANSFORM_LIMITS)};

const EXTRAS = ['console', 'SharedArrayBuffer', 'Atomics', 'WebAssembly', 'FinalizationRegistry', 'WeakRef'];
const language = new Set(vm.runInNewContext('Object.getOwnPropertyNames(globalThis)'));
for (const name of EXTRAS) language.delete(name);
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!language.has(name)) {
    try { delete globalThis[name]; } catch {}
  }
}

const INPUT = '__input';
const contexts = new Map();

// Only own data properties of real errors are read: anything else could be code.
function reasonOf(thrown) {
  if (thrown === null || typeof thrown !== 'object') return typeof thrown === 'string' ? thrown : 'it threw no error';
  if (isProxy(thrown) || !isNativeError(thrown)) return 'it threw no error';
  const code = Object.getOwnPropertyDescriptor(thrown, 'code');
  if (code !== undefined && code.value === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
    return 'it ran longer than ' + limits.timeMs + ' ms';
  }
  const message = Object.getOwnPropertyDescriptor(thrown, 'message');
  return message !== undefined && typeof message.value === 'string' ? message.value : 'it threw an error';
}

function open({ name, code }) {
  const context = vm.createContext(Object.create(null), {
    codeGeneration: { strings: false, wasm: false },
    microtaskMode: 'afterEvaluate',
  });
  const run = (text) => new vm.Script(text, { filename: 'transform.js' }).runInContext(context, { timeout: limits.timeMs });
  run('for (const name of ' + JSON.stringify(EXTRAS) + ') delete globalThis[name];');
  run(code);
  if (run('typeof ' + name) !== 'function') throw new Error('the code has no function ' + JSON.stringify(name));
  const call = new vm.Script(
    '(() => { try {' +
      ' const [message, metadata] = JSON.parse(' + INPUT + ');' +
      ' const result = ' + name + '(message, metadata);' +
      ' return "R" + (result === null ? "null" : JSON.stringify(result));' +
      '} catch (error) { try { return "E" + error; } catch { return "Eit threw no error"; } } })()',
    { filename: 'transform.js' },
  );
  return (input) => {
    context[INPUT] = input;
    return call.runInContext(context, { timeout: limits.timeMs });
  };
}

function answer({ fn, input }) {
  const key = fn.name + '\\n' + fn.code;
  try {
    const opened = contexts.get(key) ?? open(fn);
    contexts.delete(key);
    contexts.set(key, opened);
    for (const oldest of contexts.keys()) {
      if (contexts.size <= limits.functionsMax) break;
      contexts.delete(oldest);
    }
    if (input === undefined) return { kind: 'result', json: 'null' };
    const text = opened(input);
    if (typeof text !== 'string') return { kind: 'failed', reason: 'it did not end' };
    if (text[0] === 'R') return { kind: 'result', json: text.slice(1) };
    return { kind: 'failed', reason: text.slice(1, 1000) };
  } catch (thrown) {
    // Stopped in the middle, a context may be in any state.
    contexts.delete(key);
    return { kind: 'failed', reason: reasonOf(thrown) };
  }
}

parentPort.on('message', (request) => {
  const result = answer(request);
  const spent = getHeapStatistics().external_memory > limits.externalBytesMax;
  parentPort.postMessage({ result: spent ? { kind: 'failed', reason: 'it used too much memory' } : result, spent });
});
`;
