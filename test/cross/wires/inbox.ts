/** Turns what an SDK pushes into what a test awaits. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #takers: { take(item: T): void; fail(error: Error): void }[] = [];
  #error: Error | undefined;

  put(item: T): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push(item);
    else taker.take(item);
  }

  fail(error: Error): void {
    this.#error = error;
    for (const taker of this.#takers.splice(0)) taker.fail(error);
  }

  take(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => this.#takers.push({ take: resolve, fail: reject }));
  }
}
