/** Types of frames. */
export const METHOD = 1;
export const HEADER = 2;
export const BODY = 3;
export const HEARTBEAT = 8;

export const FRAME_END = 0xce;
export const FRAME_HEAD_BYTES = 7;
export const FRAME_EXTRA_BYTES = 8;

/** The one channel a connection uses. */
export const CHANNEL = 1;

const BASIC_ACK = 60 * 65_536 + 80;
const ACK_BYTES = 13;

export interface PublishTemplate {
  /** Method, header and body frame of one publish: copy it, then write the sequence number into the copy. */
  readonly frames: Buffer;
  readonly sequenceOffset: number;
}

export interface PublishOptions {
  /** Default: the default exchange. */
  readonly exchange?: string;
  /** Not to be written to disk; default: persistent. */
  readonly transient?: boolean;
}

/** The frames of a publish of `body`. */
export function publishTemplate(
  routingKey: string,
  body: string,
  { exchange = '', transient = false }: PublishOptions = {},
): PublishTemplate {
  const bytes = Buffer.from(body, 'latin1');
  const method = frame(
    METHOD,
    CHANNEL,
    methodPayload(60, 40, [reserved(), shortText(exchange), shortText(routingKey), Buffer.from([0])]),
  );
  const header = Buffer.alloc(15);
  header.writeUInt16BE(60, 0);
  header.writeUInt32BE(bytes.length, 8);
  header.writeUInt16BE(0x1000, 12);
  header[14] = transient ? 1 : 2;
  const head = Buffer.concat([method, frame(HEADER, CHANNEL, header)]);
  return {
    frames: Buffer.concat([head, frame(BODY, CHANNEL, bytes)]),
    sequenceOffset: head.length + FRAME_HEAD_BYTES,
  };
}

/** The frame of an acknowledgement, in one piece: there is one for each message. */
export function ackFrame(tag: number, multiple: boolean): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_EXTRA_BYTES + ACK_BYTES);
  bytes[0] = METHOD;
  bytes.writeUInt16BE(CHANNEL, 1);
  bytes.writeUInt32BE(ACK_BYTES, 3);
  bytes.writeUInt32BE(BASIC_ACK, 7);
  writeTag(bytes, 11, tag);
  bytes[19] = multiple ? 1 : 0;
  bytes[20] = FRAME_END;
  return bytes;
}

export function methodPayload(classId: number, methodId: number, args: Buffer[]): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(classId, 0);
  head.writeUInt16BE(methodId, 2);
  return Buffer.concat([head, ...args]);
}

export function frame(type: number, channel: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_EXTRA_BYTES + payload.length);
  bytes[0] = type;
  bytes.writeUInt16BE(channel, 1);
  bytes.writeUInt32BE(payload.length, 3);
  bytes.set(payload, FRAME_HEAD_BYTES);
  bytes[bytes.length - 1] = FRAME_END;
  return bytes;
}

export function reserved(): Buffer {
  return Buffer.alloc(2);
}

export function table(): Buffer {
  return Buffer.alloc(4);
}

export function shortText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

export function longText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export function readTag(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

function writeTag(bytes: Buffer, at: number, tag: number): void {
  bytes.writeUInt32BE(Math.floor(tag / 2 ** 32), at);
  bytes.writeUInt32BE(tag >>> 0, at + 4);
}
