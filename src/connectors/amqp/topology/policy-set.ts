import { appliesToType, mergedDefinition } from '../mapping/policy-definition.js';
import type { AppliedPolicies, PolicyDefinition, QueueType } from './types.js';

export const APPLY_TO = ['all', 'queues', 'exchanges', 'classic_queues', 'quorum_queues', 'streams'] as const;
/** What a policy is for. */
export type ApplyTo = (typeof APPLY_TO)[number];

export interface Policy {
  readonly name: string;
  /** A regular expression; it may match any part of a name. */
  readonly pattern: string;
  readonly definition: PolicyDefinition;
  /** Of those that match, the one with the highest number holds. */
  readonly priority: number;
  readonly applyTo: ApplyTo;
}

/** Who made a policy. One of each may hold for the same queue, and they are merged. */
export type PolicySide = 'user' | 'operator';

interface Compiled {
  readonly policy: Policy;
  readonly regexp: RegExp;
}

const OF_TYPE: Readonly<Record<QueueType, ApplyTo>> = {
  classic: 'classic_queues',
  quorum: 'quorum_queues',
  stream: 'streams',
};

const NONE: AppliedPolicies = { user: undefined, operator: undefined, definition: {} };

/** The policies of one virtual host, and which of them hold for what. */
export class PolicySet {
  readonly #sides: Readonly<Record<PolicySide, Map<string, Compiled>>> = {
    user: new Map(),
    operator: new Map(),
  };

  put(side: PolicySide, policy: Policy): void {
    this.#sides[side].set(policy.name, { policy, regexp: new RegExp(policy.pattern) });
  }

  remove(side: PolicySide, name: string): void {
    this.#sides[side].delete(name);
  }

  get(side: PolicySide, name: string): Policy | undefined {
    return this.#sides[side].get(name)?.policy;
  }

  all(side: PolicySide): readonly Policy[] {
    return [...this.#sides[side].values()].map(({ policy }) => policy);
  }

  ofQueue(name: string, type: QueueType): AppliedPolicies {
    return this.#applied(
      name,
      ({ applyTo, definition }) =>
        (applyTo === 'all' || applyTo === 'queues' || applyTo === OF_TYPE[type]) &&
        appliesToType(definition, type),
    );
  }

  ofExchange(name: string): AppliedPolicies {
    return this.#applied(name, ({ applyTo }) => applyTo === 'all' || applyTo === 'exchanges');
  }

  #applied(name: string, isFor: (policy: Policy) => boolean): AppliedPolicies {
    const user = this.#strongest('user', name, isFor);
    const operator = this.#strongest('operator', name, isFor);
    if (user === undefined && operator === undefined) return NONE;
    const definition = mergedDefinition(user?.definition ?? {}, operator?.definition ?? {});
    return { user: user?.name, operator: operator?.name, definition };
  }

  /** Of equally strong ones the first by name, so that every node chooses the same. */
  #strongest(side: PolicySide, name: string, isFor: (policy: Policy) => boolean): Policy | undefined {
    let best: Policy | undefined;
    for (const { policy, regexp } of this.#sides[side].values()) {
      if (!isFor(policy) || !regexp.test(name)) continue;
      const stronger =
        best === undefined ||
        policy.priority > best.priority ||
        (policy.priority === best.priority && policy.name < best.name);
      if (stronger) best = policy;
    }
    return best;
  }
}
