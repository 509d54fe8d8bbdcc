import { BrokerError, type ErrorKind } from '../../core/errors.js';

/**
 * What travels on the bus, little endian: kind (1), last (1), call (4), part (4), then the caller's id, the sender's id and the
 * service (1 + n each), the rest is payload. `call` counts per caller: with the caller's id it names one request or one stream.
 */
export const FrameKind = {
  /** Part of a request; the last one completes it. */
  request: 0,
  reply: 1,
  /** The call failed; payload: `encodeFailure`. */
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
  /** Of a stream: `part` is the one that comes next, payload the bytes of room said so far (8, a double): whether all has come. */
  probe: 8,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface Frame {
  readonly kind: FrameKind;
  readonly last: boolean;
  readonly call: number;
  /**
   * Counts the frames of one request, of one reply and of a stream's data in one direction, from 0: NATS loses what is under way
   * when a connection breaks, and what comes behind a gap must not pass for the whole.
   */
  readonly part: number;
  /** Who began the call; the same in both directions. */
  readonly caller: string;
  /** Who sent this frame. */
  readonly sender: string;
  readonly service: string;
  readonly payload: Uint8Array;
}

const NAMES_AT = 10;
const FIXED_BYTES = NAMES_AT + 3;

export function encodeFrame(frame: Frame): Buffer {
  const names = [frame.caller, frame.sender, frame.service].map((name) => Buffer.from(name));
  const namesBytes = names.reduce((sum, name) => sum + name.length, 0);
  const bytes = Buffer.allocUnsafeSlow(FIXED_BYTES + namesBytes + frame.payload.byteLength);
  bytes[0] = frame.kind;
  bytes[1] = frame.last ? 1 : 0;
  bytes.writeUInt32LE(frame.call, 2);
  bytes.writeUInt32LE(frame.part, 6);
  let at = NAMES_AT;
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
  if (bytes.length < FIXED_BYTES || (bytes[0] as number) > FrameKind.probe) return undefined;
  const names: string[] = [];
  let at = NAMES_AT;
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
    part: bytes.readUInt32LE(6),
    caller,
    sender,
    service,
    payload: bytes.subarray(at),
  };
}

export function encodeFailure(error: BrokerError): Uint8Array {
  return Buffer.from(JSON.stringify({ kind: error.kind, message: error.message }));
}

export function decodeFailure(payload: Uint8Array): BrokerError {
  const { kind, message } = JSON.parse(Buffer.from(payload).toString()) as {
    kind: ErrorKind;
    message: string;
  };
  return new BrokerError(kind, message);
}
