/** Bounds of message transforms. Those of the functions are Google's. */
export const TRANSFORM_LIMITS = {
  /** Transforms of one topic or subscription. */
  transformsMax: 5,
  codeBytesMax: 20 * 1024,
  /** One function on one message; its code's own top level has as long. */
  timeMs: 500,
  /** Heap of the thread that runs the functions, and its buffers outside of the heap. */
  heapMb: 96,
  externalBytesMax: 64 * 1024 * 1024,
  /** Compiled functions kept; the one used longest ago makes room. */
  functionsMax: 64,
  /** How long the thread may say nothing beyond the functions' own time, before it is ended. */
  silenceMs: 5_000,
  /** Idle time after which the thread ends. */
  idleMs: 60_000,
  /** Messages that wait for the thread. */
  queuedMax: 20_000,
} as const;
