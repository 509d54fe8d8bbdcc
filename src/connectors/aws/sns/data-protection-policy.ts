import { invalidSnsParameter } from '../errors.js';
import { jsonMap } from './topic-policy.js';

const POLICY_BYTES_MAX = 30_720;

/** Checks a data protection policy, which is kept and given back as it came. Throws InvalidParameter. */
export function readDataProtectionPolicy(text: string): string {
  const policy = jsonMap(text);
  if (policy === undefined || Buffer.byteLength(text) > POLICY_BYTES_MAX) {
    throw invalidSnsParameter(
      `DataProtectionPolicy Reason: must be a JSON map of at most ${POLICY_BYTES_MAX} bytes`,
    );
  }
  return text;
}
