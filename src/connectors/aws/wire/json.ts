import { isAscii, isUtf8 } from 'node:buffer';
import type { AwsFault } from './fault.js';
import { faultSide } from './fault.js';
import { cutStrings } from './plain-json.js';

const BACKSLASH = 0x5c;

/** The strings of a field that may be long: they are left in the request's bytes when they can be. */
export interface StringField {
  /** The name with its quotes. */
  readonly name: Buffer;
  /** How many of the input's structures should have it; -1 when one of them has none, or it is no string there. */
  count(input: Record<string, unknown>): number;
}

/** A request of the JSON protocol. */
export interface JsonInput {
  readonly input: Record<string, unknown>;
  /**
   * The strings of the long field as they stand in the request, in their order; in the input they are empty then. They are ASCII
   * without a control character, quote or backslash. Undefined: they are in the input.
   */
  readonly strings: readonly Buffer[] | undefined;
}

/** Reads a JSON request; undefined when the bytes are no JSON object. An empty body is an empty one. */
export function parseJsonInput(body: Buffer, long?: StringField): JsonInput | undefined {
  if (body.length === 0) return { input: {}, strings: undefined };
  // ASCII is nearly all there is, and read as Latin-1 it needs no decoding.
  const ascii = isAscii(body);
  if (!ascii && !isUtf8(body)) return undefined;
  if (ascii && long !== undefined && body.indexOf(BACKSLASH) < 0) {
    const cut = cutStrings(body, long.name);
    if (cut !== undefined) {
      const input = parseObject(cut.text);
      if (input === undefined) return undefined;
      // Else the name stands somewhere else too, and which string is whose cannot be told.
      if (long.count(input) === cut.strings.length) return { input, strings: cut.strings };
    }
  }
  const input = parseObject(ascii ? body.toString('latin1') : body.toString('utf8'));
  return input === undefined ? undefined : { input, strings: undefined };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
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
