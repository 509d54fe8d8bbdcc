import { COMMON_FAULTS, invalidParameterValue } from './errors.js';
import { AwsFault } from './wire/fault.js';

/** A request's structure, the same from either protocol, its types yet unchecked. */
export type Input = Readonly<Record<string, unknown>>;

function wrongType(name: string, expected: string): AwsFault {
  return new AwsFault(COMMON_FAULTS.serialization, `The value of ${name} must be ${expected}.`);
}

export function optionalText(input: Input, name: string): string | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw wrongType(name, 'a string');
  return value;
}

/** A whole number; the Query protocol and some clients write it as text. */
export function optionalInteger(input: Input, name: string): number | undefined {
  const value = input[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  if (typeof value === 'string') {
    if (/^-?\d{1,15}$/.test(value)) return Number(value);
    throw invalidParameterValue(
      `Value ${value} for parameter ${name} is invalid. Reason: Must be an integer.`,
    );
  }
  throw wrongType(name, 'an integer');
}

export function optionalStructure(input: Input, name: string): Input | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  return structureOf(value, name);
}

export function structureOf(value: unknown, name: string): Input {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongType(name, 'a structure');
  return value as Input;
}

/** An absent list is an empty one. */
export function listOf(input: Input, name: string): readonly unknown[] {
  const value = input[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(name, 'a list');
  return value;
}

export function textsOf(input: Input, name: string): readonly string[] {
  const list = listOf(input, name);
  for (const item of list) if (typeof item !== 'string') throw wrongType(name, 'a list of strings');
  return list as readonly string[];
}

/** A map of text to text, in the order given; empty when absent. */
export function textMapOf(input: Input, name: string): ReadonlyMap<string, string> {
  const out = new Map<string, string>();
  for (const [key, value] of Object.entries(optionalStructure(input, name) ?? {})) {
    if (typeof value !== 'string') throw wrongType(name, 'a map of strings');
    out.set(key, value);
  }
  return out;
}
