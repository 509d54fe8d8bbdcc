/** Beyond it a copy costs more than the collection of garbage that it saves. Buffers up to it come from Node's pool. */
const COPIED_BYTES_MAX = 4095;

/** Whether a reader of so many bytes gets a copy, so that the memory they came from can be used again. */
export function isCopied(length: number): boolean {
  return length <= COPIED_BYTES_MAX;
}

export function copyOf(memory: Buffer, offset: number, length: number): Uint8Array {
  const copy = Buffer.allocUnsafe(length);
  memory.copy(copy, 0, offset, offset + length);
  return copy;
}
