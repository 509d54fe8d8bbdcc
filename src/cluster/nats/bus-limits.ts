/** Bounds of the bus on one node. */
export const BUS_LIMITS = {
  /** Payload of one NATS message; less when the server takes less. */
  frameBytesMax: 256 << 10,
  /** One request or reply. */
  bodyBytesMax: 128 << 20,
  /** Parts of requests and replies that are not complete. */
  assemblyBytesMax: 256 << 20,
  /** Bytes handed to the client before the server is asked whether it took them. */
  unflushedBytesMax: 4 << 20,
  callsMax: 100_000,
  streamsMax: 10_000,
  openTimeoutMs: 5_000,
  /** How often the other end of a stream on which something moved is asked whether all of it came, … */
  probeMs: 1_000,
  /** … and after how many of these times that of a stream which rests. */
  probesAtRest: 5,
  /** How long the parts of a request may take to come. */
  assemblyTimeoutMs: 30_000,
} as const;
