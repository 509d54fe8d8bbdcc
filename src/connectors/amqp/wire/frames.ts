/** Frame types (AMQP 0-9-1 §4.2.3). */
export const FRAME_METHOD = 1;
export const FRAME_HEADER = 2;
export const FRAME_BODY = 3;
export const FRAME_HEARTBEAT = 8;

export const FRAME_END = 0xce;

/** Type, channel and size before the payload. */
export const FRAME_HEADER_BYTES = 7;
/** Header and end octet: what a frame has besides its payload. */
export const FRAME_OVERHEAD = FRAME_HEADER_BYTES + 1;

/** Largest frame before tuning, and the smallest maximum a peer may ask for. */
export const FRAME_MIN_SIZE = 4096;

/** Class and method id at the beginning of a method frame's payload. */
export const METHOD_ID_BYTES = 4;

/** Class id, weight and body size in a content header, before the property flags. */
export const CONTENT_HEADER_FIXED_BYTES = 12;

export const CLASS_BASIC = 60;

export const PROTOCOL_HEADER: Buffer = Buffer.from('AMQP\x00\x00\x09\x01', 'latin1');

/** A whole heartbeat frame. */
export const HEARTBEAT_FRAME: Buffer = Buffer.from([FRAME_HEARTBEAT, 0, 0, 0, 0, 0, 0, FRAME_END]);
