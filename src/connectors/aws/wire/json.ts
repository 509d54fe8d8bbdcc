import { isAscii, isUtf8 } from 'node:buffer';
import type { AwsFault } from './fault.js';
import { faultSide } from './fault.js';

/** The structure a JSON request carries, or undefined when the bytes are no JSON object. An empty body is an empty one. */
export function parseJsonInput(body: Buffer): Record<string, unknown> | undefined {
  if (body.length === 0) return {};
  // ASCII is nearly all there is, and read as Latin-1 it needs no decoding.
  const encoding = isAscii(body) ? 'latin1' : 'utf8';
  if (encoding === 'utf8' && !isUtf8(body)) return undefined;
  try {
    const value: unknown = JSON.parse(body.toString(encoding));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Body of a refusal in the JSON protocol. */
export function writeJsonFault(fault: AwsFault): string {
  const space = fault.kind.modelled ? 'com.amazonaws.sqs' : 'com.amazon.coral.service';
  return JSON.stringify({ __type: `${space}#${fault.kind.type}`, message: fault.message });
}

/** The header by which clients of both protocols see the same code. */
export function queryErrorHeader(fault: AwsFault): string {
  return `${fault.kind.code};${faultSide(fault)}`;
}
