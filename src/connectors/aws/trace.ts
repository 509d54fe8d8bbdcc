import type { Call } from './operation.js';

const TRACE_CHARS_MAX = 1_024;

/** What X-Ray wrote into the head of a request: it goes along with the messages that come of it. */
export function traceOf(call: Call): string | undefined {
  const trace = call.header('x-amzn-trace-id');
  return trace !== undefined && trace !== '' && trace.length <= TRACE_CHARS_MAX ? trace : undefined;
}
