/** A call that waits or streams and has to hear of a shutdown. */
export interface Session {
  /** The connector drains: tell the peer, start nothing new, end when nothing is left to do. Never throws. */
  drain(): void;
}

/** The open sessions of the connector, and work that outlives their calls. */
export class Sessions {
  readonly #open = new Set<Session>();
  readonly #work = new Set<Promise<void>>();
  readonly #onIdle: (() => void)[] = [];
  #draining = false;

  get draining(): boolean {
    return this.#draining;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Enters a session; returns how it leaves. */
  enter(session: Session): () => void {
    this.#open.add(session);
    if (this.#draining) session.drain();
    return () => {
      this.#open.delete(session);
      this.#wakeIfIdle();
    };
  }

  /** Looks after work that nobody awaits, such as giving back what a broken stream held. It must not reject. */
  supervise(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => {
      this.#work.delete(work);
      this.#wakeIfIdle();
    });
  }

  drain(): void {
    this.#draining = true;
    for (const session of [...this.#open]) session.drain();
  }

  /** Resolves when every session has left and all supervised work is done. */
  async idle(): Promise<void> {
    while (this.#open.size > 0 || this.#work.size > 0) {
      await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    }
  }

  #wakeIfIdle(): void {
    if (this.#open.size > 0 || this.#work.size > 0) return;
    for (const wake of this.#onIdle.splice(0)) wake();
  }
}
