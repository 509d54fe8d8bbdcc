/** A promise with what settles it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

let lastResolve: unknown;
let lastReject: unknown;

// One executor for all, read at once after it ran: a closure for each would be garbage on the hottest path there is.
const capture = (resolve: unknown, reject: unknown): void => {
  lastResolve = resolve;
  lastReject = reject;
};

export function deferred<T>(): Deferred<T> {
  const promise = new Promise<T>(capture);
  return {
    promise,
    resolve: lastResolve as (value: T) => void,
    reject: lastReject as (error: Error) => void,
  };
}
