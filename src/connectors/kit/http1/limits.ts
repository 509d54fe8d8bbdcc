/** Every bound of an HTTP listener, by name. */
export interface HttpLimits {
  /** Open sockets; more are closed as they come. */
  readonly connectionsMax: number;
  /** Largest request body. A larger one is read to its end within a bound, thrown away and refused. */
  readonly bodyBytesMax: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** Requests of one connection that wait for their answers, and the bytes of their bodies; then it is not read on. */
  readonly pipelinedMax: number;
  readonly pipelinedBytesMax: number;
  /** Answers that a peer has not read; then its requests wait. */
  readonly unsentBytesMax: number;
  /** Time for a peer to send its headers, and its whole request. Waiting for an answer is not counted. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Time for a peer to read answers once too many lie unread. */
  readonly unsentTimeoutMs: number;
  /** Idle time after which a kept-alive socket is closed. */
  readonly keepAliveTimeoutMs: number;
  /** How long a refused peer may go on sending: closing earlier could take the answer from it. */
  readonly lingerTimeoutMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectionsMax: 10_000,
  bodyBytesMax: 8 * 1024 * 1024,
  headerBytesMax: 32 * 1024,
  pipelinedMax: 32,
  pipelinedBytesMax: 64 * 1024,
  unsentBytesMax: 1024 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  unsentTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  lingerTimeoutMs: 2_000,
};
