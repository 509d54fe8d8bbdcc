import { invalidSnsParameter } from '../errors.js';

/** Why the value of one attribute is not allowed; who asked for it says how that reads on the wire. */
export class AttributeFault extends Error {}

/** Reads a value, turning its fault into InvalidParameter with `prefix` before it. */
export function faultsWith<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof AttributeFault) throw invalidSnsParameter(prefix + error.message);
    throw error;
  }
}
