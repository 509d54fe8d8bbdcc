import { invalidParameterValue } from '../errors.js';
import type { MapShape } from '../wire/shape.js';
import { scalar } from '../wire/shape.js';

const TAGS_MAX = 50;
const KEY_CHARS_MAX = 128;
const VALUE_CHARS_MAX = 256;

export const tagMap: MapShape = {
  kind: 'map',
  value: scalar,
  keyName: 'Key',
  valueName: 'Value',
  flat: 'Tag',
};

/** Checks the tags of a queue together. Throws InvalidParameterValue. */
export function checkTags(queue: string, tags: ReadonlyMap<string, string>): void {
  if (tags.size > TAGS_MAX) throw invalidParameterValue(`Too many tags added for queue ${queue}.`);
  for (const [key, value] of tags) {
    if (key === '' || key.length > KEY_CHARS_MAX || key.toLowerCase().startsWith('aws:')) {
      throw invalidParameterValue(
        `Tag keys must be between 1 and ${KEY_CHARS_MAX} characters and not begin with aws:.`,
      );
    }
    if (value.length > VALUE_CHARS_MAX) {
      throw invalidParameterValue(`Tag values must be at most ${VALUE_CHARS_MAX} characters in length.`);
    }
  }
}
