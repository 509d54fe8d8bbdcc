import { uint31, withoutPadding } from './frames.js';
import type { Http2Limits } from './limits.js';
import { ConnectionError, ErrorCode, Flag } from './protocol.js';

/** A whole header block, to be decoded. */
export interface HeaderBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly bytes: Buffer;
  /** The stream says that it depends on itself: a stream error. */
  readonly isSelfDependent: boolean;
}

const PRIORITY_BYTES = 5;

/** Joins HEADERS and the CONTINUATION frames that follow it (RFC 9113, sections 6.2 and 6.10). */
export class HeaderBlocks {
  readonly #limits: Http2Limits;
  #open: Omit<HeaderBlock, 'bytes'> | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limits: Http2Limits) {
    this.#limits = limits;
  }

  /** Between HEADERS and the end of its block only CONTINUATION may come. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  headers(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    let bytes = withoutPadding(payload, flags);
    let isSelfDependent = false;
    if ((flags & Flag.priority) !== 0) {
      if (bytes.length < PRIORITY_BYTES)
        throw new ConnectionError(ErrorCode.frameSizeError, 'HEADERS too short');
      isSelfDependent = uint31(bytes, 0) === streamId;
      bytes = bytes.subarray(PRIORITY_BYTES);
    }
    const head = { streamId, isEnd: (flags & Flag.endStream) !== 0, isSelfDependent };
    if ((flags & Flag.endHeaders) !== 0) return { ...head, bytes };
    this.#open = head;
    this.#add(bytes);
    return undefined;
  }

  continuation(flags: number, streamId: number, payload: Buffer): HeaderBlock | undefined {
    const head = this.#open;
    if (head?.streamId !== streamId) {
      throw new ConnectionError(ErrorCode.protocolError, 'CONTINUATION of no header block');
    }
    if (this.#parts.length > this.#limits.continuationsMax) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many CONTINUATION frames');
    }
    this.#add(payload);
    if ((flags & Flag.endHeaders) === 0) return undefined;
    const bytes = Buffer.concat(this.#parts, this.#bytes);
    this.#open = undefined;
    this.#parts = [];
    this.#bytes = 0;
    return { ...head, bytes };
  }

  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.#limits.headerBlockBytesMax) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'header block too large');
    }
    this.#parts.push(Buffer.from(bytes));
  }
}
