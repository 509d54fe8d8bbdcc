import { invalidArgument } from './errors.js';

const LABELS_MAX = 64;
const KEY = /^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const VALUE = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

/** Checks labels by Google's rules for them; throws `invalid-argument`. */
export function checkLabels(labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  if (entries.length > LABELS_MAX) {
    throw invalidArgument(`A resource may have at most ${LABELS_MAX} labels, not ${entries.length}.`);
  }
  for (const [key, value] of entries) {
    if (!KEY.test(key)) {
      throw invalidArgument(
        `Invalid label key given (key=${key}). It must have 1 to 63 lower-case letters, digits, '_' and '-', and begin ` +
          'with a letter.',
      );
    }
    if (!VALUE.test(value)) {
      throw invalidArgument(
        `Invalid label value given (value=${value}). It may have up to 63 lower-case letters, digits, '_' and '-'.`,
      );
    }
  }
}
