import type { Access, ResourceKind } from './resource.js';
import { ACCESSES, RESOURCE_KINDS } from './resource.js';

/** Allows every client that `clientId` matches these accesses to these kinds of every channel that `channel` matches. */
export interface AccessRule {
  /** Patterns, see `compilePattern`. */
  readonly clientId: string;
  readonly channel: string;
  readonly kinds: readonly ResourceKind[];
  readonly accesses: readonly Access[];
}

/** Channels whose grants one client remembers; then it starts anew. */
const REMEMBERED_CHANNELS_MAX = 10_000;
/** Clients whose rules a policy remembers; the oldest goes first. */
const REMEMBERED_CLIENTS_MAX = 10_000;

interface CompiledRule {
  readonly client: RegExp;
  readonly channel: RegExp;
  readonly grants: number;
}

/** The bit of one access to one kind. */
export function grantBit(kind: ResourceKind, access: Access): number {
  return 1 << (RESOURCE_KINDS.indexOf(kind) * ACCESSES.length + ACCESSES.indexOf(access));
}

/** What one client may do: a number of bits for each channel, worked out once. */
export class ClientGrants {
  readonly #rules: readonly CompiledRule[];
  readonly #byChannel = new Map<string, number>();

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
  }

  of(channel: string): number {
    return this.#byChannel.get(channel) ?? this.#workOut(channel);
  }

  #workOut(channel: string): number {
    let grants = 0;
    for (const rule of this.#rules) if (rule.channel.test(channel)) grants |= rule.grants;
    if (this.#byChannel.size >= REMEMBERED_CHANNELS_MAX) this.#byChannel.clear();
    this.#byChannel.set(channel, grants);
    return grants;
  }
}

/** Rules, compiled once. What no rule allows is refused. */
export class AccessPolicy {
  readonly #rules: readonly CompiledRule[];
  readonly #byClient = new Map<string, ClientGrants>();

  /** Throws SyntaxError when a pattern is no regular expression. */
  constructor(rules: readonly AccessRule[]) {
    this.#rules = rules.map(({ clientId, channel, kinds, accesses }) => ({
      client: compilePattern(clientId),
      channel: compilePattern(channel),
      grants: kinds
        .flatMap((kind) => accesses.map((access) => grantBit(kind, access)))
        .reduce((all, bit) => all | bit, 0),
    }));
  }

  get ruleCount(): number {
    return this.#rules.length;
  }

  grantsOf(clientId: string): ClientGrants {
    const known = this.#byClient.get(clientId);
    if (known !== undefined) return known;
    if (this.#byClient.size >= REMEMBERED_CLIENTS_MAX) {
      const [oldest] = this.#byClient.keys();
      if (oldest !== undefined) this.#byClient.delete(oldest);
    }
    const grants = new ClientGrants(this.#rules.filter(({ client }) => client.test(clientId)));
    this.#byClient.set(clientId, grants);
    return grants;
  }
}

/**
 * A regular expression for a whole name. A `*` right behind a letter, a digit, `_` or `-` stands for any text, as the
 * documentation of this rule format has it: `client*` is every name that begins so. Throws SyntaxError.
 */
export function compilePattern(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern.replace(/(?<=[\p{L}\p{N}_-])\*/gu, '.*')})$`, 'su');
}
