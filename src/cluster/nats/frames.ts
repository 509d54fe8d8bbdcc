/**
 * What travels on the bus, little endian: kind (1), last (1), call (4), caller's id (1 + n), service (1 + n), the rest is payload.
 * `call` counts per caller: with the caller's id it names one request or one stream.
 */
export const FrameKind = {
  /** Part of a request; the last one completes it. */
  request: 0,
  reply: 1,
  /** The call failed; payload: kind, 0, message. */
  fail: 2,
  /** Opens a stream. */
  open: 3,
  /** The peer serves the stream. */
  opened: 4,
  /** Part of a chunk; the last one completes it. */
  data: 5,
  /** Payload: bytes of room that came free (4). */
  credit: 6,
  /** This side writes no more. */
  end: 7,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface Frame {
  readonly kind: FrameKind;
  readonly last: boolean;
  readonly call: number;
  /** Who began the call; the same in both directions. */
  readonly caller: string;
  /** Who sent this frame. */
  readonly sender: string;
  readonly service: string;
  readonly payload: Uint8Array;
}

const FIXED_BYTES = 9;

export function encodeFrame(frame: Frame): Buffer {
  const names = [frame.caller, frame.sender, frame.service].map((name) => Buffer.from(name));
  const namesBytes = names.reduce((sum, name) => sum + name.length, 0);
  const bytes = Buffer.allocUnsafeSlow(FIXED_BYTES + namesBytes + frame.payload.byteLength);
  bytes[0] = frame.kind;
  bytes[1] = frame.last ? 1 : 0;
  bytes.writeUInt32LE(frame.call, 2);
  let at = 6;
  for (const name of names) {
    bytes[at++] = name.length;
    at += name.copy(bytes, at);
  }
  bytes.set(frame.payload, at);
  return bytes;
}

/** Undefined: not a frame. The payload is a view. */
export function decodeFrame(data: Uint8Array): Frame | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < FIXED_BYTES || (bytes[0] as number) > FrameKind.end) return undefined;
  const names: string[] = [];
  let at = 6;
  for (let i = 0; i < 3; i++) {
    const end = at + 1 + (bytes[at] ?? 0);
    if (end > bytes.length) return undefined;
    names.push(bytes.toString('utf8', at + 1, end));
    at = end;
  }
  const [caller = '', sender = '', service = ''] = names;
  return {
    kind: bytes[0] as FrameKind,
    last: bytes[1] === 1,
    call: bytes.readUInt32LE(2),
    caller,
    sender,
    service,
    payload: bytes.subarray(at),
  };
}
