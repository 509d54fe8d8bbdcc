import { uint32 } from './frames.js';
import {
  ConnectionError,
  DEFAULT_FRAME_BYTES,
  ErrorCode,
  FRAME_BYTES_MAX,
  Setting,
  WINDOW_BYTES_MAX,
} from './protocol.js';

const SETTING_BYTES = 6;

/**
 * Reads a SETTINGS payload (RFC 9113, section 6.5). Returns the new initial window of streams, or undefined when it stays.
 * The others need nothing of us: frames sent here are never larger than every peer takes, and blocks use no table.
 */
export function readSettings(payload: Buffer): number | undefined {
  if (payload.length % SETTING_BYTES !== 0)
    throw new ConnectionError(ErrorCode.frameSizeError, 'SETTINGS of odd size');
  let windowBytes: number | undefined;
  for (let at = 0; at < payload.length; at += SETTING_BYTES) {
    const value = uint32(payload, at + 2);
    switch (payload.readUInt16BE(at)) {
      case Setting.enablePush:
        if (value > 1) throw new ConnectionError(ErrorCode.protocolError, 'ENABLE_PUSH is neither 0 nor 1');
        break;
      case Setting.initialWindowSize:
        if (value > WINDOW_BYTES_MAX) {
          throw new ConnectionError(ErrorCode.flowControlError, 'INITIAL_WINDOW_SIZE too large');
        }
        windowBytes = value;
        break;
      case Setting.maxFrameSize:
        if (value < DEFAULT_FRAME_BYTES || value > FRAME_BYTES_MAX) {
          throw new ConnectionError(ErrorCode.protocolError, 'MAX_FRAME_SIZE out of bounds');
        }
        break;
    }
  }
  return windowBytes;
}
