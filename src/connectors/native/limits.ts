/** Bounds of the native API that are no settings. Those of the first group are part of its contract. */
export const NATIVE_LIMITS = {
  messagesPerReceiveMax: 1024,
  waitSecondsMax: 3600,
  /** What a wait of 0 means. */
  waitSecondsDefault: 1,
  expirationSecondsMax: 43_200,
  delaySecondsMax: 43_200,
  receiveCountMax: 1024,
  visibilitySecondsMax: 43_200,
  visibilitySecondsDefault: 60,
  /** QueuesDownstream waits at least this long, whatever was asked. */
  getWaitMsMin: 1000,
  getWaitMsMax: 3_600_000,

  /** Messages of one Get without a bound of its own, and of one with a larger one. */
  getItemsMax: 4096,
  /** Bodies of one answer; a larger single message still passes. Bare gRPC clients read 4 MiB. */
  responseBytes: 3_500_000,
  /** Gets that wait at once, and transactions that are open at once, on one stream. */
  getsPerStreamMax: 1024,
  transactionsPerStreamMax: 16_384,
  /** Sends on one stream that are not confirmed yet; reading stops above and goes on below half of it. */
  unconfirmedPerStreamMax: 8192,
  unconfirmedBytesPerStreamMax: 64 * 1024 * 1024,
  /** How long a subscriber waits for another one to leave the same durable position before it is refused. */
  takeOverMs: 1000,
  /** How long the end of the connector waits for cut calls to give back their messages. */
  stopMs: 5000,
  /** Events that one subscriber is given before the first of them has left. */
  eventsPerTurn: 64,

  /** Bytes that wait for the peer of a WebSocket; above it the sender waits. */
  webSocketPendingBytes: 256 * 1024,
  /** How often peers of WebSockets are asked whether they are there; silent ones are cut the next time. */
  webSocketPingMs: 30_000,

  /** Channels of one list, length of its search pattern, and time that matching it may take. */
  listedChannelsMax: 50_000,
  searchLengthMax: 256,
  searchMs: 200,
  /** How long after its last message a channel counts as active. */
  activeMs: 10_000,
} as const;
