import { SNS_FAULTS } from '../errors.js';
import { optionalStructure, optionalText, structureOf } from '../input.js';
import type { Input } from '../input.js';
import { AwsFault } from '../wire/fault.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { fromBase64 } from '../wire/text.js';

const NAME_CHARS_MAX = 256;
const TYPE = /^(String|Number|Binary)(\..{1,249})?$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/;
const NOT_NAME = /[^A-Za-z0-9_.-]/u;
const RESERVED = /^(aws|amazon)\./i;

/** Most attributes looked at in one message; the size of a message bounds them too. */
const ATTRIBUTES_MAX = 1_000;

function refuse(message: string): AwsFault {
  return new AwsFault(SNS_FAULTS.parameterValueInvalid, message);
}

/**
 * Reads and checks the attributes of a message to publish: any number of them. `position`: of its entry in a batch, from
 * 1. Throws ParameterValueInvalid and ValidationError.
 */
export function readSnsAttributes(input: Input, position?: number): readonly MessageAttribute[] {
  const given = optionalStructure(input, 'MessageAttributes');
  if (given === undefined) return [];
  const entries = Object.entries(given);
  if (entries.length > ATTRIBUTES_MAX)
    throw refuse(`At most ${ATTRIBUTES_MAX} message attributes are allowed.`);
  return entries.map(([name, value]) => readAttribute(name, structureOf(value, name), position));
}

function readAttribute(name: string, value: Input, position: number | undefined): MessageAttribute {
  checkName(name);
  const dataType = optionalText(value, 'DataType');
  if (dataType === undefined) {
    const entry = position === undefined ? '' : `publishBatchRequestEntries.${position}.member.`;
    throw new AwsFault(
      SNS_FAULTS.validation,
      `1 validation error detected: Value null at '${entry}messageAttributes.${name}.member.dataType' failed to ` +
        'satisfy constraint: Member must not be null',
    );
  }
  if (!TYPE.test(dataType)) {
    throw refuse(
      `The message attribute '${name}' has an invalid message attribute type, the set of supported type prefixes is ` +
        'Binary, Number, and String.',
    );
  }
  const binary = dataType.startsWith('Binary');
  const field = binary ? 'Binary' : 'String';
  const text = optionalText(value, `${field}Value`);
  const other = optionalText(value, binary ? 'StringValue' : 'BinaryValue');
  if (text === undefined && other !== undefined) {
    throw refuse(`The message attribute '${name}' with type '${dataType}' must use field '${field}'.`);
  }
  if (text === undefined || text === '') {
    throw refuse(
      `The message attribute '${name}' must contain non-empty message attribute value for message attribute type ` +
        `'${dataType}'.`,
    );
  }
  if (!binary) {
    if (dataType.startsWith('Number') && dataType !== 'Number.Array' && !NUMBER.test(text)) {
      throw refuse(`Could not cast message attribute '${name}' value to number.`);
    }
    return { name, dataType, value: text };
  }
  const bytes = fromBase64(text);
  if (bytes === undefined)
    throw refuse(`The message attribute '${name}' has a value that is not valid base64.`);
  return { name, dataType, value: bytes };
}

function checkName(name: string): void {
  if (name.length > NAME_CHARS_MAX) {
    throw refuse('Length of message attribute name must be less than 256 bytes.');
  }
  if (name.startsWith('.')) {
    throw refuse("Invalid message attribute name starting with character '.' was found.");
  }
  if (name.endsWith('.')) {
    throw refuse("Invalid message attribute name ending with character '.' was found.");
  }
  const wrong = NOT_NAME.exec(name)?.[0];
  if (wrong !== undefined || name === '') {
    const code = (wrong?.codePointAt(0) ?? 0).toString(16).toUpperCase();
    throw refuse(
      `Invalid non-alphanumeric character '#x${code}' was found in the message attribute name. Can only include ` +
        'alphanumeric characters, hyphens, underscores, or dots.',
    );
  }
  if (name.includes('..')) throw refuse("Message attribute name can not have successive '.' character.");
  if (RESERVED.test(name)) {
    throw refuse(`Invalid message attribute name '${name}': it must not begin with AWS. or Amazon.`);
  }
}
