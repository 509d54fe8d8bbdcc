import { SNS_FAULTS } from '../errors.js';
import { optionalStructure, optionalText, structureOf } from '../input.js';
import type { Input } from '../input.js';
import { isAttributeName } from '../sqs/message-attributes.js';
import { AwsFault } from '../wire/fault.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { fromBase64 } from '../wire/text.js';

const TYPE = /^(String|Number|Binary)(\..{1,249})?$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/;

/** Most attributes looked at in one message; the size of a message bounds them too. */
const ATTRIBUTES_MAX = 1_000;

function refuse(message: string): AwsFault {
  return new AwsFault(SNS_FAULTS.parameterValueInvalid, message);
}

/** Reads and checks the attributes of a message to publish: any number of them. Throws ParameterValueInvalid. */
export function readSnsAttributes(input: Input): readonly MessageAttribute[] {
  const given = optionalStructure(input, 'MessageAttributes');
  if (given === undefined) return [];
  const entries = Object.entries(given);
  if (entries.length > ATTRIBUTES_MAX)
    throw refuse(`At most ${ATTRIBUTES_MAX} message attributes are allowed.`);
  return entries.map(([name, value]) => readAttribute(name, structureOf(value, name)));
}

function readAttribute(name: string, value: Input): MessageAttribute {
  const dataType = optionalText(value, 'DataType');
  if (dataType === undefined) {
    throw new AwsFault(
      SNS_FAULTS.validation,
      `1 validation error detected: Value null at 'messageAttributes.${name}.member.dataType' failed to satisfy ` +
        'constraint: Member must not be null',
    );
  }
  if (!isAttributeName(name)) {
    throw refuse(
      `Invalid attribute name '${name.slice(0, 300)}': names contain A-Z, a-z, 0-9, underscore, hyphen and period, do ` +
        'not start or end with a period, have none in succession and do not begin with AWS. or Amazon.',
    );
  }
  if (!TYPE.test(dataType)) {
    throw refuse(
      `The message attribute '${name}' has an invalid message attribute type, the set of supported type prefixes is ` +
        'Binary, Number, and String.',
    );
  }
  const binary = dataType.startsWith('Binary');
  const text = optionalText(value, binary ? 'BinaryValue' : 'StringValue');
  if (text === undefined || text === '') {
    throw refuse(
      `The message attribute '${name}' must contain non-empty message attribute value for message attribute type ` +
        `'${dataType}'.`,
    );
  }
  if (!binary) {
    if (dataType.startsWith('Number') && !NUMBER.test(text)) {
      throw refuse(`Could not cast message attribute '${name}' value to number.`);
    }
    return { name, dataType, value: text };
  }
  const bytes = fromBase64(text);
  if (bytes === undefined)
    throw refuse(`The message attribute '${name}' has a value that is not valid base64.`);
  return { name, dataType, value: bytes };
}
