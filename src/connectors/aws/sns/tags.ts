import { invalidSnsParameter, SNS_FAULTS } from '../errors.js';
import { listOf, optionalText, structureOf } from '../input.js';
import type { Input } from '../input.js';
import { AwsFault } from '../wire/fault.js';

const TAGS_MAX = 50;
const KEY_CHARS_MAX = 128;
const VALUE_CHARS_MAX = 256;

/** Reads and checks the `Tags` of a request. Throws InvalidParameter and TagLimitExceeded. */
export function readTags(input: Input): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  for (const raw of listOf(input, 'Tags')) {
    const tag = structureOf(raw, 'Tags');
    const key = optionalText(tag, 'Key') ?? '';
    const value = optionalText(tag, 'Value') ?? '';
    if (key === '' || key.length > KEY_CHARS_MAX || key.toLowerCase().startsWith('aws:')) {
      throw invalidSnsParameter(
        `Tags Reason: keys are 1 to ${KEY_CHARS_MAX} characters and do not begin with aws:`,
      );
    }
    if (tags.has(key)) throw invalidSnsParameter('Duplicated keys are not allowed.');
    if (value.length > VALUE_CHARS_MAX) {
      throw invalidSnsParameter(`Tags Reason: values are at most ${VALUE_CHARS_MAX} characters`);
    }
    tags.set(key, value);
  }
  checkTagCount(tags.size);
  return tags;
}

/** Throws TagLimitExceeded. */
export function checkTagCount(count: number): void {
  if (count > TAGS_MAX) {
    throw new AwsFault(
      SNS_FAULTS.tagLimitExceeded,
      'Could not complete request: tag quota of per resource exceeded',
    );
  }
}
