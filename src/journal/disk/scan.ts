import { join } from 'node:path';
import type { Position } from '../../core/ports/journal.js';
import {
  ABSENT,
  BEGIN,
  BEGIN_BYTES,
  claimedLength,
  inspectEntry,
  kindOf,
  logEndOf,
  searchPattern,
  SHORT,
  syncedBelowOf,
} from './entry.js';
import type { FileLayer, StoreFile } from './file-layer.js';
import { parseSegmentName, segmentName } from './layout.js';

/** Bytes read in one step of a scan. */
const CHUNK_BYTES = 4 << 20;

/** A segment file as it is found. */
export interface FoundSegment {
  readonly extent: number;
  readonly epoch: number;
  readonly path: string;
  readonly start: Position;
  /** Bytes in the file, valid or not. */
  readonly size: number;
  /** Where the log in front of it ends, when its first entry is whole. */
  readonly logEnd: Position | undefined;
}

/** Why a walk along a segment stopped: at its given end, at something that is no entry, or at an entry that is not whole. */
export type Stop = 'end' | 'absent' | 'damaged';

export interface WalkOptions {
  readonly segment: FoundSegment;
  readonly from: Position;
  readonly to: Position | undefined;
  /** Called for each whole entry; the bytes stay valid afterwards. */
  readonly visit: (bytes: Buffer, at: number, position: Position, length: number) => void;
}

/** All segment files of a store, by extent. */
export async function findSegments(
  files: FileLayer,
  directory: string,
  extentBytes: number,
): Promise<FoundSegment[]> {
  const found: FoundSegment[] = [];
  for (const name of await files.list(directory)) {
    const parsed = parseSegmentName(name);
    if (parsed === undefined) continue;
    const path = join(directory, segmentName(parsed.extent, parsed.epoch));
    const start = parsed.extent * extentBytes;
    const { size, logEnd } = await withFile(files, path, async (file) => {
      const first = Buffer.alloc(BEGIN_BYTES);
      const bytes = await file.size();
      const count = await file.read(first, 0);
      const whole =
        count === BEGIN_BYTES &&
        inspectEntry(first, 0, start, parsed.epoch) === BEGIN_BYTES &&
        kindOf(first, 0) === BEGIN;
      return { size: bytes, logEnd: whole ? logEndOf(first, 0) : undefined };
    });
    found.push({ ...parsed, path, start, size, logEnd });
  }
  return found.sort((a, b) => a.extent - b.extent || a.epoch - b.epoch);
}

/** Visits whole entries one after the other. Returns where it stopped and why. */
export async function walkSegment(
  files: FileLayer,
  options: WalkOptions,
): Promise<{ readonly end: Position; readonly stop: Stop }> {
  const { segment, to, visit } = options;
  return withFile(files, segment.path, async (file) => {
    let position = options.from;
    let wanted = CHUNK_BYTES;
    for (;;) {
      if (to !== undefined && position >= to) return { end: position, stop: 'end' };
      const offset = position - segment.start;
      const chunk = await readChunk(file, offset, Math.min(wanted, Math.max(0, segment.size - offset)));
      const atEnd = offset + chunk.length >= segment.size;
      wanted = CHUNK_BYTES;
      let at = 0;
      while (to === undefined || position < to) {
        const length = inspectEntry(chunk, at, position, segment.epoch);
        if (length > 0) {
          visit(chunk, at, position, length);
          at += length;
          position += length;
          continue;
        }
        if (length === SHORT && !atEnd) {
          // The rest of this entry is in the next chunk, or in a larger one when it was the first.
          if (at === 0) wanted = claimedLength(chunk, 0);
          break;
        }
        const nothing =
          length === ABSENT || (length === SHORT && !holdsHeader(chunk, at, position, segment.epoch));
        return { end: position, stop: nothing ? 'absent' : 'damaged' };
      }
    }
  });
}

/** What lies behind a place where the entries stop. */
export interface Remains {
  /** The furthest position below which some entry found everything to be durable; 0 when there is no entry. */
  readonly syncedBelow: Position;
  readonly entries: number;
  /** Where the first entry begins; undefined when there is none. */
  readonly first: Position | undefined;
  /** End of the last entry. */
  readonly end: Position;
}

/** Searches everything at or above `from` in the segment for whole entries, wherever they begin. */
export async function searchSegment(
  files: FileLayer,
  segment: FoundSegment,
  from: Position,
): Promise<Remains> {
  const { pattern, headerOffset } = searchPattern(segment.epoch);
  return withFile(files, segment.path, async (file) => {
    let syncedBelow = 0;
    let entries = 0;
    let first: Position | undefined;
    let end = from;
    let offset = Math.max(0, from - segment.start);
    while (offset < segment.size) {
      const chunk = await readChunk(file, offset, Math.min(CHUNK_BYTES, segment.size - offset));
      if (chunk.length === 0) break;
      let next = offset + chunk.length;
      if (next < segment.size) next -= headerOffset + pattern.length - 1;
      for (let hit = chunk.indexOf(pattern); hit >= 0; hit = chunk.indexOf(pattern, hit + 1)) {
        const at = hit - headerOffset;
        if (at < 0) continue;
        const position = segment.start + offset + at;
        const length = await lengthAt(file, segment, chunk, at, position);
        if (length <= 0) continue;
        entries += 1;
        first ??= position;
        end = position + length;
        syncedBelow = Math.max(syncedBelow, syncedBelowOf(chunk, at, position));
      }
      offset = next;
    }
    return { syncedBelow, entries, first, end };
  });
}

async function lengthAt(
  file: StoreFile,
  segment: FoundSegment,
  chunk: Buffer,
  ...[at, position]: [number, Position]
): Promise<number> {
  const length = inspectEntry(chunk, at, position, segment.epoch);
  if (length !== SHORT || !holdsHeader(chunk, at, position, segment.epoch)) return length;
  const whole = claimedLength(chunk, at);
  const offset = position - segment.start;
  if (offset + whole > segment.size) return SHORT;
  return inspectEntry(await readChunk(file, offset, whole), 0, position, segment.epoch);
}

/** True when a header that belongs here stands at `at`, whatever follows it. */
function holdsHeader(bytes: Buffer, at: number, position: Position, epoch: number): boolean {
  return bytes.length - at >= 24 && inspectEntry(bytes.subarray(at), 0, position, epoch) !== ABSENT;
}

async function readChunk(file: StoreFile, offset: number, length: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafeSlow(length);
  const count = await file.read(chunk, offset);
  return count === length ? chunk : chunk.subarray(0, count);
}

async function withFile<T>(files: FileLayer, path: string, use: (file: StoreFile) => Promise<T>): Promise<T> {
  const file = await files.open(path, 'read');
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
