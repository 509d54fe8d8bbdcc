import { WireReader } from './bytes.js';
import { skipValue } from './field-table.js';
import { readFlags } from './properties.js';
import { ReplyError } from './reply.js';

/** What a publish needs to know of its properties, read without decoding the rest. */
export interface PropertyScan {
  readonly deliveryMode: number;
  readonly priority: number | undefined;
  readonly expiration: string | undefined;
  readonly replyTo: string | undefined;
  readonly userId: string | undefined;
  /** A header that changes what the broker does is there (`x-delay`, `CC`, `BCC`): decode the table. */
  readonly specialHeaders: boolean;
}

const SPECIAL_HEADERS: ReadonlySet<string> = new Set(['x-delay', 'CC', 'BCC']);

const FLAG_HEADERS = 0x2000;
const FLAG_TIMESTAMP = 0x0040;

/**
 * Reads one property list; 502 when it is malformed. Values inside nested tables and arrays are passed over by their
 * length, so whoever decodes stored headers must still expect faults there.
 */
export function scanProperties(buffer: Buffer, start: number, end: number): PropertyScan {
  const reader = new WireReader(buffer, start, end);
  const flags = readFlags(reader);
  let deliveryMode = 1;
  let priority: number | undefined;
  let expiration: string | undefined;
  let replyTo: string | undefined;
  let userId: string | undefined;
  let specialHeaders = false;
  for (let flag = 0x8000; flag > 0x0002; flag >>= 1) {
    if ((flags & flag) === 0) continue;
    if (flag === FLAG_HEADERS) specialHeaders = scanHeaders(reader);
    else if (flag === 0x1000) deliveryMode = reader.octet();
    else if (flag === 0x0800) priority = reader.octet();
    else if (flag === 0x0200) replyTo = reader.shortString();
    else if (flag === 0x0100) expiration = reader.shortString();
    else if (flag === FLAG_TIMESTAMP) reader.take(8);
    else if (flag === 0x0010) userId = reader.shortString();
    else reader.shortString();
  }
  if (reader.left > 0) throw new ReplyError(502, 'bytes behind the property list');
  return { deliveryMode, priority, expiration, replyTo, userId, specialHeaders };
}

function scanHeaders(reader: WireReader): boolean {
  const length = reader.long();
  const start = reader.take(length);
  const headers = new WireReader(reader.buffer, start, start + length);
  let special = false;
  while (headers.left > 0) {
    if (SPECIAL_HEADERS.has(headers.shortString())) special = true;
    skipValue(headers);
  }
  return special;
}
