/** One whole HTTP request, and the way to answer it once: what does not depend on the version it came by. */
export interface WholeRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Empty when it was over the limit. */
  readonly body: Buffer;
  /** Value of the first field of this name, in lower case. */
  header(name: string): string | undefined;
  /** Calls `run` when the peer goes away before it was answered. One at a time; undefined forgets it. */
  onPeerGone(run: (() => void) | undefined): void;
  /** Sends the answer. `headers` is name, value, name, value…; Content-Length is added. A second call does nothing. */
  reply(status: number, headers: readonly string[], body: string | Uint8Array): void;
}
