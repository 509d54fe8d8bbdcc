import { isAscii, isUtf8 } from 'node:buffer';
import type { AwsFault } from './fault.js';
import { faultSide } from './fault.js';

const BACKSLASH = 0x5c;

/** A request of the JSON protocol. */
export interface JsonInput {
  readonly input: Record<string, unknown>;
  /**
   * Its text, when that is ASCII without a backslash: then each string stands in it as it is and holds no control
   * character, quote or backslash.
   */
  readonly plain: Buffer | undefined;
}

/** Reads a JSON request; undefined when the bytes are no JSON object. An empty body is an empty one. */
export function parseJsonInput(body: Buffer): JsonInput | undefined {
  if (body.length === 0) return { input: {}, plain: undefined };
  // ASCII is nearly all there is, and read as Latin-1 it needs no decoding.
  const ascii = isAscii(body);
  if (!ascii && !isUtf8(body)) return undefined;
  try {
    const value: unknown = JSON.parse(ascii ? body.toString('latin1') : body.toString('utf8'));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const plain = ascii && body.indexOf(BACKSLASH) < 0 ? body : undefined;
    return { input: value as Record<string, unknown>, plain };
  } catch {
    return undefined;
  }
}

const PLAIN_TEXT = /^[\w.:/ -]*$/;

/** Text as a JSON string; quick for the ids and names that are nearly all there is. */
export function jsonString(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text);
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
