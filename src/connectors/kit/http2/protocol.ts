/** The numbers of HTTP/2 (RFC 9113) that a server needs. */

export const FRAME_HEAD_BYTES = 9;

/** RFC 9113, section 3.4. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** RFC 9113, section 6. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = {
  endStream: 0x1,
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

/** RFC 9113, section 6.5.2. */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** RFC 9113, section 7. */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
} as const;

/** Flow-control windows begin with this and never exceed that (section 6.9). */
export const DEFAULT_WINDOW_BYTES = 65_535;
export const WINDOW_BYTES_MAX = 0x7fff_ffff;

/** A peer may always send frames of this size, and may allow up to the second. */
export const DEFAULT_FRAME_BYTES = 16_384;
export const FRAME_BYTES_MAX = 0xff_ffff;

/** What ends a whole connection, with the code for its GOAWAY. */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'ConnectionError';
    this.code = code;
  }
}
