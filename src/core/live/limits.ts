/** Bounds of live traffic. */
export const LIVE_LIMITS = {
  /** Messages that wait for one subscriber without condition, unless its sink says how many. */
  bufferMessages: 100,
  /** How long a subscriber with a full buffer may take nothing before what is new for it is dropped. */
  graceMs: 2_000,
  /** Messages and bytes that wait for one subscriber within that time. */
  waitingMessagesMax: 65_536,
  waitingBytesMax: 64 * 1024 * 1024,
  subscribersMax: 100_000,
  /** Requests of this node that wait for their answers. */
  pendingRequestsMax: 100_000,
  /** Longest wait of a request: a day. */
  requestTimeoutMsMax: 86_400_000,
  /** Answers kept for queries. */
  cachedRepliesMax: 10_000,
  cachedBytesMax: 64 * 1024 * 1024,
  /** Channels whose way to their subscribers is remembered, and whose figures are kept. */
  routesMax: 10_000,
  activitiesMax: 50_000,
  /** Other nodes are told again what is listened to here when they missed it. */
  resyncMs: 250,
} as const;
