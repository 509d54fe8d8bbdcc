import type { AccessPolicy, Identity } from '../access/access-policy.js';

/** A login lasts as long as what the client showed last: `onOver` is told why it does so no longer. */
export class LoginLease {
  readonly #access: AccessPolicy;
  readonly #identity: Identity;
  readonly #onOver: (reason: string) => void;
  #forget: () => void = () => undefined;
  #ended = false;

  constructor(access: AccessPolicy, identity: Identity, onOver: (reason: string) => void) {
    this.#access = access;
    this.#identity = identity;
    this.#onOver = onOver;
  }

  /** `secret`: undefined when the client showed none (EXTERNAL). */
  begin(secret: string | undefined): void {
    this.#forget();
    this.#forget = this.#access.watch(this.#identity, secret, (reason) => {
      if (!this.#ended) this.#onOver(reason);
    });
  }

  /** connection.update-secret: false when the new secret is no good, or somebody else's. */
  async renew(secret: string): Promise<boolean> {
    if (!(await this.#access.refresh(this.#identity, secret))) return false;
    if (!this.#ended) this.begin(secret);
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#forget();
  }
}
