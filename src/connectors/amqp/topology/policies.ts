import type { Broker } from '../../../core/broker-api.js';
import type { Change, RegistryEntry } from '../../../core/registry/types.js';
import { updateOf } from './channel-settings.js';
import { NameLocks } from './name-locks.js';
import type { Policy, PolicySide } from './policy-set.js';
import type { PolicyRecord } from './records.js';
import { OPERATOR_POLICY_KIND, POLICY_KIND, policyOfRecord, policyRecord, resourceKey } from './records.js';
import type { Queue } from './types.js';
import type { Vhost } from './vhost.js';

/** Queues whose settings go into one change of the registry. */
const QUEUES_PER_CHANGE = 1_000;

const KINDS: Readonly<Record<PolicySide, string>> = { user: POLICY_KIND, operator: OPERATOR_POLICY_KIND };

export interface PoliciesOptions {
  readonly broker: Broker;
  /** The virtual host of a name, made at the first look. */
  readonly vhost: (name: string) => Vhost;
  /** The queue lives by something else now. */
  readonly onChanged: (queue: Queue) => void;
}

/**
 * Policies as registry entries. A change of them holds at once; the new settings of the queues it concerns are written in the
 * same change, so that a restart finds either all of it or nothing. With very many queues it is several changes, and the
 * policy stands in the last one.
 */
export class Policies {
  readonly #options: PoliciesOptions;
  readonly #locks = new NameLocks();
  readonly #known = new Map<string, { readonly vhost: string; readonly name: string }>();

  constructor(options: PoliciesOptions) {
    this.#options = options;
  }

  /** Reads the registry and follows it from then on. Returns what ends that. */
  start(): readonly (() => void)[] {
    const { registry } = this.#options.broker;
    return (['user', 'operator'] as const).map((side) => {
      const kind = KINDS[side];
      for (const entry of registry.list<PolicyRecord>(kind)) this.#onEntry(side, entry.key, entry);
      return registry.watch(kind, (key, entry) =>
        this.#onEntry(side, key, entry as RegistryEntry<PolicyRecord> | undefined),
      );
    });
  }

  async put(vhost: Vhost, side: PolicySide, policy: Policy): Promise<void> {
    const [kind, key] = [KINDS[side], resourceKey(vhost.name, policy.name)];
    const value = policyRecord(vhost.name, policy);
    await this.#change(vhost, { do: 'put', kind, key, value }, { side, name: policy.name, policy });
  }

  async remove(vhost: Vhost, side: PolicySide, name: string): Promise<void> {
    const [kind, key] = [KINDS[side], resourceKey(vhost.name, name)];
    await this.#change(vhost, { do: 'remove', kind, key }, { side, name, policy: undefined });
  }

  /** Memory first: a queue that is declared meanwhile already lives by it. */
  async #change(
    vhost: Vhost,
    record: Change,
    next: { readonly side: PolicySide; readonly name: string; readonly policy: Policy | undefined },
  ): Promise<void> {
    await this.#locks.run([vhost.name], async () => {
      const before = vhost.policies.get(next.side, next.name);
      const set = (policy: Policy | undefined): readonly Queue[] =>
        this.#set(vhost, next.side, next.name, policy);
      const changes = set(next.policy).flatMap((queue) => updateOf(this.#options.broker, vhost.name, queue));
      try {
        for (let i = 0; i < changes.length - QUEUES_PER_CHANGE; i += QUEUES_PER_CHANGE) {
          await this.#options.broker.change(changes.slice(i, i + QUEUES_PER_CHANGE));
        }
        const rest = changes.length % QUEUES_PER_CHANGE || Math.min(changes.length, QUEUES_PER_CHANGE);
        await this.#options.broker.change([...changes.slice(changes.length - rest), record]);
      } catch (caught) {
        set(before);
        throw caught;
      }
    });
  }

  #set(vhost: Vhost, side: PolicySide, name: string, policy: Policy | undefined): readonly Queue[] {
    if (policy === undefined) vhost.policies.remove(side, name);
    else vhost.policies.put(side, policy);
    const changed = vhost.applyPolicies();
    for (const queue of changed) this.#options.onChanged(queue);
    return changed;
  }

  #onEntry(side: PolicySide, key: string, entry: RegistryEntry<PolicyRecord> | undefined): void {
    const id = `${side} ${key}`;
    if (entry !== undefined) {
      const { vhost, name } = entry.value;
      this.#known.set(id, { vhost, name });
      this.#set(this.#options.vhost(vhost), side, name, policyOfRecord(entry.value));
      return;
    }
    const gone = this.#known.get(id);
    if (gone === undefined) return;
    this.#known.delete(id);
    this.#set(this.#options.vhost(gone.vhost), side, gone.name, undefined);
  }
}
