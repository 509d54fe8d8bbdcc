import { invalidValue, SQS_FAULTS } from '../errors.js';
import { queueArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { AwsFault } from '../wire/fault.js';
import type { Queue } from './queue-registry.js';

const STATEMENTS_MAX = 20;
/** Of the policy language; what AddPermission writes. */
const VERSION = '2008-10-17';

type Json = Readonly<Record<string, unknown>>;

/** The policy of a queue with one more statement. Throws InvalidParameterValue for a label that is taken. */
export function withStatement(
  config: AwsConfig,
  queue: Queue,
  statement: {
    readonly label: string;
    readonly accounts: readonly string[];
    readonly actions: readonly string[];
  },
): string {
  const { label, accounts, actions } = statement;
  const arn = queueArn(config, queue.name);
  const policy = policyOf(queue);
  const statements = statementsOf(policy);
  if (statements.some((one) => one['Sid'] === label)) throw invalidValue(label, 'Label', 'Already exists.');
  if (statements.length >= STATEMENTS_MAX) {
    throw new AwsFault(
      SQS_FAULTS.overLimit,
      `${statements.length + 1} Statements were found, maximum allowed is ${STATEMENTS_MAX}.`,
    );
  }
  const added = {
    Sid: label,
    Effect: 'Allow',
    Principal: { AWS: oneOrMany(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: oneOrMany(actions.map((action) => `SQS:${action}`)),
    Resource: arn,
  };
  const base = policy ?? { Version: VERSION, Id: `${arn}/SQSDefaultPolicy` };
  return JSON.stringify({ ...base, Statement: [...statements, added] });
}

/** The policy without a statement, '' when it was the last one. Throws InvalidParameterValue for an unknown label. */
export function withoutStatement(queue: Queue, label: string): string {
  const policy = policyOf(queue);
  const statements = statementsOf(policy);
  const kept = statements.filter((one) => one['Sid'] !== label);
  if (kept.length === statements.length) throw invalidValue(label, 'Label', "can't find label.");
  return kept.length === 0 ? '' : JSON.stringify({ ...policy, Statement: kept });
}

function policyOf({ record }: Queue): Json | undefined {
  const text = record.attributes['Policy'];
  return text === undefined ? undefined : (JSON.parse(text) as Json);
}

/** The policy language allows one statement to stand without a list. */
function statementsOf(policy: Json | undefined): readonly Json[] {
  const statements = policy?.['Statement'];
  const list: readonly unknown[] = Array.isArray(statements) ? statements : [statements];
  return list.filter((one): one is Json => typeof one === 'object' && one !== null);
}

function oneOrMany(values: readonly string[]): string | readonly string[] | undefined {
  return values.length === 1 ? values[0] : values;
}
