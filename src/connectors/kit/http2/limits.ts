/** Bounds of one HTTP/2 connection. */
export interface Http2Limits {
  /** Largest frame payload taken (SETTINGS_MAX_FRAME_SIZE). */
  readonly frameBytesMax: number;
  /** Bytes of one compressed header block over all its frames, and the number of CONTINUATION frames. */
  readonly headerBlockBytesMax: number;
  readonly continuationsMax: number;
  /** Size of a decoded header list as RFC 9113, section 6.5.2 counts it. */
  readonly headerListBytesMax: number;
  /** Our side of the compression table. */
  readonly headerTableBytes: number;
  /** Calls at once; further ones are refused and may be tried again. */
  readonly streamsMax: number;
  /** Bytes a peer may send ahead on one stream, and on the connection, before they are taken. */
  readonly streamWindowBytes: number;
  readonly connectionWindowBytes: number;
  /** Frames a second that ask for work and carry nothing: PING, SETTINGS, PRIORITY, empty DATA, frames of closed streams. */
  readonly controlFramesPerSecondMax: number;
  /** Streams a second that the peer opens and resets, or that break the protocol. */
  readonly resetsPerSecondMax: number;
  /** Bytes given to the socket and not sent yet; above it nothing is read, and DATA waits in its stream. */
  readonly socketPendingBytesMax: number;
  /** Bytes that wait in one stream for the peer's windows; above it `write` says no. */
  readonly streamPendingBytesMax: number;
  /** The same of all streams together; above it new streams are refused. */
  readonly connectionPendingBytesMax: number;
  /** Time for the preface and the first SETTINGS. */
  readonly handshakeMs: number;
  /** A silent peer is asked whether it is there, and cut when it does not answer in time. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Time for the peer to close after our last GOAWAY. */
  readonly lingerMs: number;
  /** Time for the answer that ends the first step of a drain. */
  readonly drainRoundTripMs: number;
}

export const HTTP2_LIMITS: Http2Limits = {
  frameBytesMax: 16_384,
  headerBlockBytesMax: 64 * 1024,
  continuationsMax: 16,
  headerListBytesMax: 32 * 1024,
  headerTableBytes: 4096,
  streamsMax: 10_000,
  streamWindowBytes: 1024 * 1024,
  connectionWindowBytes: 8 * 1024 * 1024,
  controlFramesPerSecondMax: 10_000,
  resetsPerSecondMax: 2_000,
  socketPendingBytesMax: 1024 * 1024,
  streamPendingBytesMax: 128 * 1024,
  connectionPendingBytesMax: 64 * 1024 * 1024,
  handshakeMs: 10_000,
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 10_000,
  lingerMs: 1_000,
  drainRoundTripMs: 1_000,
};
