/** A call that waits or streams and has to hear of a shutdown. */
export interface Session {
  /** The connector drains: tell the peer, start nothing new, end when nothing is left to do. Never throws. */
  drain(): void;
}

/** The open sessions of the connector, and work that outlives their calls. */
export class Sessions {
  readonly #open = new Set<Session>();
  readonly #work = new Set<Promise<void>>();
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
    return () => void this.#open.delete(session);
  }

  /** Looks after work that nobody awaits, such as giving back what a broken stream held. It must not reject. */
  supervise(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  drain(): void {
    this.#draining = true;
    for (const session of [...this.#open]) session.drain();
  }

  /** Resolves when all supervised work is done. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled([...this.#work]);
  }
}
