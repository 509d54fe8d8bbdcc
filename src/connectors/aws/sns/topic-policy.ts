import { invalidSnsParameter } from '../errors.js';
import { topicArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { AttributeFault } from './attribute-fault.js';

const POLICY_BYTES_MAX = 30_720;
const STATEMENTS_MAX = 100;

type Json = Readonly<Record<string, unknown>>;

/** What the owner of a topic may do, and what AddPermission can allow others. */
const ACTIONS = [
  'GetTopicAttributes',
  'SetTopicAttributes',
  'AddPermission',
  'RemovePermission',
  'DeleteTopic',
  'Subscribe',
  'ListSubscriptionsByTopic',
  'Publish',
] as const;
const SHARED_ACTIONS: ReadonlySet<string> = new Set([...ACTIONS, 'Receive']);

/** Checks a Policy's text, which is kept as it came. Throws AttributeFault. */
export function readTopicPolicy(text: string): string {
  if (Buffer.byteLength(text) > POLICY_BYTES_MAX)
    throw new AttributeFault('the policy is over the allowed size');
  if (jsonMap(text) === undefined) throw new AttributeFault('failed to parse JSON.');
  return text;
}

/** The policy of a topic that was given none: its owner may do everything. */
export function defaultTopicPolicy(config: AwsConfig, name: string): string {
  return JSON.stringify({
    Version: '2008-10-17',
    Id: '__default_policy_ID',
    Statement: [
      {
        Sid: '__default_statement_ID',
        Effect: 'Allow',
        Principal: { AWS: '*' },
        Action: ACTIONS.map((action) => `SNS:${action}`),
        Resource: topicArn(config, name),
        Condition: { StringEquals: { 'AWS:SourceOwner': config.accountId } },
      },
    ],
  });
}

/** A policy with one more statement. Throws InvalidParameter. */
export function withPermission(
  policy: string,
  statement: {
    readonly label: string;
    readonly accounts: readonly string[];
    readonly actions: readonly string[];
    readonly arn: string;
  },
): string {
  const { label, accounts, actions, arn } = statement;
  const document = jsonMap(policy) ?? {};
  const statements = statementsOf(document);
  if (statements.some((one) => one['Sid'] === label)) throw invalidSnsParameter('Statement already exists');
  if (statements.length >= STATEMENTS_MAX) throw invalidSnsParameter('Policy Reason: too many statements');
  if (actions.some((action) => !SHARED_ACTIONS.has(action))) {
    throw invalidSnsParameter('Policy statement action out of service scope!');
  }
  const added = {
    Sid: label,
    Effect: 'Allow',
    Principal: { AWS: oneOrMany(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: oneOrMany(actions.map((action) => `SNS:${action}`)),
    Resource: arn,
  };
  const text = JSON.stringify({ ...document, Statement: [...statements, added] });
  if (Buffer.byteLength(text) > POLICY_BYTES_MAX) throw invalidSnsParameter('Policy Reason: too long');
  return text;
}

/** A policy without the statement of that label; one that is not there is fine. */
export function withoutPermission(policy: string, label: string): string {
  const document = jsonMap(policy) ?? {};
  const kept = statementsOf(document).filter((one) => one['Sid'] !== label);
  return JSON.stringify({ ...document, Statement: kept });
}

/** The policy language allows one statement to stand without a list. */
function statementsOf(document: Json): readonly Json[] {
  const statements = document['Statement'];
  const list: readonly unknown[] = Array.isArray(statements) ? statements : [statements];
  return list.filter((one): one is Json => typeof one === 'object' && one !== null);
}

function oneOrMany(values: readonly string[]): string | readonly string[] | undefined {
  return values.length === 1 ? values[0] : values;
}

/** The JSON object a text is; undefined when it is none. */
export function jsonMap(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
