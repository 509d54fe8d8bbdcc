import { PROTOCOL_HEADER } from '../wire/frames.js';

/** Versions that are answered with 0-9-1: itself, and how older clients ask for 0-9 and 0-8. */
const VERSIONS: readonly string[] = ['\x00\x00\x09\x01', '\x01\x01\x00\x09', '\x01\x01\x08\x00'];

const NAME_BYTES = 4;
const NAME = PROTOCOL_HEADER.subarray(0, NAME_BYTES);

/** The first eight bytes of a connection, which may come in parts. */
export class ProtocolHeader {
  #bytes: Buffer = Buffer.alloc(0);

  /** Takes a chunk: the bytes behind the header once it is whole and known, `refused`, or undefined while it is short. */
  take(chunk: Buffer): Buffer | 'refused' | undefined {
    const before = this.#bytes.length;
    const bytes = Buffer.concat([this.#bytes, chunk.subarray(0, PROTOCOL_HEADER.length - before)]);
    this.#bytes = bytes;
    const name = bytes.subarray(0, NAME_BYTES);
    // A wrong first byte is enough: nobody waits for the rest of a TLS hello.
    if (!name.equals(NAME.subarray(0, name.length))) return 'refused';
    if (bytes.length < PROTOCOL_HEADER.length) return undefined;
    if (!VERSIONS.includes(bytes.toString('latin1', NAME_BYTES))) return 'refused';
    return chunk.subarray(PROTOCOL_HEADER.length - before);
  }
}
