import type { Claim, Coordinator, Member } from '../contract.js';

/**
 * The coordinator of a single machine: one member, every claim is ours unless we hold it already. Epochs begin at the
 * one given (the store's count of its openings), so that they rise over restarts too.
 */
export class LocalCoordinator implements Coordinator {
  readonly self: Member;
  readonly #firstEpoch: number;
  readonly #held = new Map<string, { lose: (reason: string) => void }>();
  readonly #epochs = new Map<string, number>();
  #closed = false;

  constructor(self: Member, firstEpoch = 1) {
    this.self = self;
    this.#firstEpoch = firstEpoch;
  }

  members(): readonly Member[] {
    return [this.self];
  }

  /** The list never changes here. */
  watchMembers(): () => void {
    return () => undefined;
  }

  /** Nobody else is there to want one. */
  watchClaims(): () => void {
    return () => undefined;
  }

  async claim(name: string): Promise<Claim | undefined> {
    if (this.#closed) throw new Error('the coordinator is closed');
    if (this.#held.has(name)) return undefined;
    const epoch = (this.#epochs.get(name) ?? this.#firstEpoch - 1) + 1;
    this.#epochs.set(name, epoch);
    let lose = (_reason: string): void => undefined;
    const lost = new Promise<string>((resolve) => {
      lose = resolve;
    });
    const holder = { lose };
    this.#held.set(name, holder);
    const isHeld = (): boolean => this.#held.get(name) === holder;
    const release = async (): Promise<void> => {
      if (isHeld()) this.#held.delete(name);
      lose('released');
    };
    return {
      name,
      epoch,
      leaseLeftMs: Infinity,
      lost,
      release,
      get held() {
        return isHeld();
      },
    };
  }

  async owner(name: string): Promise<Member | undefined> {
    return this.#held.has(name) ? this.self : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { lose } of this.#held.values()) lose('closed');
    this.#held.clear();
  }
}
