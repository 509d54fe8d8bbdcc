import { invalidParameterValue } from '../errors.js';
import { optionalStructure, optionalText, structureOf } from '../input.js';
import type { Input } from '../input.js';
import { fromBase64, isLegalText } from '../wire/text.js';
import type { MessageAttribute } from '../wire/message-attributes.js';

export const ATTRIBUTES_MAX = 10;
const NAME_CHARS_MAX = 256;
const TYPE_CHARS_MAX = 256;
const NUMBER_DIGITS_MAX = 38;

/** Letters and digits of any alphabet, though AWS's documentation names those of ASCII alone. */
const NAME = /^[\p{L}\p{Nd}_.-]+$/u;
const RESERVED = /^(aws|amazon)\./i;
const TYPE = /^(String|Number|Binary)(\..+)?$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/;

/** Whether a name can be a message attribute's. */
export function isAttributeName(name: string): boolean {
  return (
    name.length <= NAME_CHARS_MAX &&
    NAME.test(name) &&
    !name.startsWith('.') &&
    !name.endsWith('.') &&
    !name.includes('..') &&
    !RESERVED.test(name)
  );
}

/** Reads and checks `MessageAttributes`. Throws InvalidParameterValue. */
export function readMessageAttributes(input: Input): readonly MessageAttribute[] {
  const given = optionalStructure(input, 'MessageAttributes');
  if (given === undefined) return NO_ATTRIBUTES;
  const entries = Object.entries(given);
  if (entries.length > ATTRIBUTES_MAX) {
    throw invalidParameterValue(
      `Number of message attributes [${entries.length}] exceeds the allowed maximum [${ATTRIBUTES_MAX}].`,
    );
  }
  return entries.map(([name, value]) => readAttribute(name, structureOf(value, name)));
}

const NO_ATTRIBUTES: readonly MessageAttribute[] = [];

function readAttribute(name: string, value: Input): MessageAttribute {
  checkName(name);
  const dataType = optionalText(value, 'DataType') ?? '';
  checkType(name, dataType);
  const binary = dataType.startsWith('Binary');
  const text = optionalText(value, binary ? 'BinaryValue' : 'StringValue');
  if (text === undefined || text === '') {
    throw invalidParameterValue(
      `Message (user) attribute '${name}' must contain a non-empty value of type '${binary ? 'Binary' : 'String'}'.`,
    );
  }
  if (binary) {
    const bytes = fromBase64(text);
    if (bytes === undefined) {
      throw invalidParameterValue(
        `Message (user) attribute '${name}' has a binary value that is not valid base64.`,
      );
    }
    return { name, dataType, value: bytes };
  }
  if (!isLegalText(text)) {
    throw invalidParameterValue(
      `Invalid binary character was found in the message (user) attribute '${name}' value, the set of allowed ` +
        'characters is #x9 | #xA | #xD | [#x20 to #xD7FF] | [#xE000 to #xFFFD] | [#x10000 to #x10FFFF]',
    );
  }
  if (dataType.startsWith('Number')) checkNumber(name, text);
  return { name, dataType, value: text };
}

function checkName(name: string): void {
  if (name.length > NAME_CHARS_MAX) {
    throw invalidParameterValue(
      `Message (user) attribute name '${name.slice(0, 32)}…' must be no longer than ${NAME_CHARS_MAX} characters.`,
    );
  }
  if (!isAttributeName(name)) {
    throw invalidParameterValue(
      `Invalid attribute name '${name}': names contain A-Z, a-z, 0-9, underscore, hyphen and period, do not start or ` +
        'end with a period, have none in succession and do not begin with AWS. or Amazon.',
    );
  }
}

function checkType(name: string, dataType: string): void {
  if (dataType === '') {
    throw invalidParameterValue(
      `The message attribute '${name}' must contain non-empty message attribute type.`,
    );
  }
  if (dataType.length > TYPE_CHARS_MAX || !TYPE.test(dataType) || !isLegalText(dataType)) {
    throw invalidParameterValue(
      `The message attribute '${name}' has an invalid message attribute type, the set of supported type prefixes is ` +
        'Binary, Number, and String.',
    );
  }
}

function checkNumber(name: string, text: string): void {
  const [mantissa = ''] = text.split(/[eE]/);
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '').length;
  const value = Number(text);
  if (!NUMBER.test(text) || digits > NUMBER_DIGITS_MAX || value < -1e128 || value > 1e126) {
    throw invalidParameterValue(`Can't cast the value of message (user) attribute '${name}' to a number.`);
  }
}

/**
 * Reads `MessageSystemAttributes`: the trace header is the only one a sender may set. Throws InvalidParameterValue.
 */
export function readTraceHeader(input: Input): string | undefined {
  const given = optionalStructure(input, 'MessageSystemAttributes');
  if (given === undefined) return undefined;
  let header: string | undefined;
  for (const [name, raw] of Object.entries(given)) {
    const value = structureOf(raw, name);
    if (name !== 'AWSTraceHeader') {
      throw invalidParameterValue(`Message system attribute name '${name}' is invalid.`);
    }
    if (optionalText(value, 'DataType') !== 'String') {
      throw invalidParameterValue(
        "The message system attribute 'AWSTraceHeader' has an invalid message system attribute type, the set of " +
          'supported type prefixes is String.',
      );
    }
    header = optionalText(value, 'StringValue') ?? '';
    if (header === '' || !isLegalText(header)) {
      throw invalidParameterValue(
        "Message (system) attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'.",
      );
    }
  }
  return header;
}
