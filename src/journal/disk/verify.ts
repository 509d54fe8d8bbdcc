import { join } from 'node:path';
import type { Position } from '../../core/ports/journal.js';
import { listCheckpoints, readCheckpoint } from './checkpoints.js';
import { DATA, kindOf } from './entry.js';
import type { FileLayer } from './file-layer.js';
import { readFormat } from './format.js';
import type { StoreFormat } from './format.js';
import { checkpointName } from './layout.js';
import { nodeFiles } from './node-files.js';
import { scanLog } from './recovery.js';
import type { Damage, LogScan } from './recovery.js';
import { findSegments, searchSegment, walkSegment } from './scan.js';
import type { FoundSegment } from './scan.js';

export interface CheckpointReport {
  readonly path: string;
  readonly position: Position;
  readonly bytes: number;
  readonly whole: boolean;
}

export interface SegmentReport {
  readonly path: string;
  readonly extent: number;
  readonly epoch: number;
  /** Bytes of the log in it. */
  readonly bytes: number;
  readonly entries: number;
}

/** What a store directory holds and what is wrong with it. */
export interface StoreReport {
  readonly directory: string;
  /** Undefined when there is no store. */
  readonly format: StoreFormat | undefined;
  readonly checkpoints: readonly CheckpointReport[];
  readonly segments: readonly SegmentReport[];
  /** Position from which the next start replays. */
  readonly replayFrom: Position;
  readonly entriesToReplay: number;
  readonly logEnd: Position;
  /** It was closed; otherwise the process was cut off, which is no damage. */
  readonly closed: boolean;
  /** The last writes before the end that are not whole. The next start cuts them off and keeps them aside. */
  readonly torn:
    { readonly position: Position; readonly entries: number; readonly bytes: number } | undefined;
  /** Places that were durable and are not whole any more. With one in front of `logEnd` the store does not open. */
  readonly damages: readonly Damage[];
}

/** Reads all of a store and reports on it. Changes nothing. The store should not be in use meanwhile. */
export async function verifyStore(directory: string, files: FileLayer = nodeFiles): Promise<StoreReport> {
  const format = await readFormat(files, directory);
  const checkpoints = await reportCheckpoints(files, directory);
  const segments = await findSegments(files, directory, format?.extentBytes ?? 1);
  const replayFrom = checkpoints.filter((checkpoint) => checkpoint.whole).at(-1)?.position ?? 0;
  const scan = await scanLog(files, segments, replayFrom, () => undefined);
  const old = new OldSegments(files, segments, scan, replayFrom);
  for (const segment of segments) await old.walk(segment);
  return {
    directory,
    format,
    checkpoints,
    segments: old.reports,
    replayFrom,
    entriesToReplay: scan.entries,
    logEnd: scan.logEnd,
    closed: scan.clean,
    torn: scan.torn,
    damages: scan.damage === undefined ? old.damages : [...old.damages, scan.damage],
  };
}

async function reportCheckpoints(files: FileLayer, directory: string): Promise<CheckpointReport[]> {
  const reports: CheckpointReport[] = [];
  for (const position of await listCheckpoints(files, directory)) {
    const path = join(directory, checkpointName(position));
    const data = await readCheckpoint(files, path, position);
    reports.push({ path, position, bytes: data?.byteLength ?? 0, whole: data !== undefined });
  }
  return reports;
}

/** Walks each segment by itself: what lies in front of the replayed part is only looked at here. */
class OldSegments {
  readonly reports: SegmentReport[] = [];
  readonly damages: Damage[] = [];
  readonly #files: FileLayer;
  readonly #segments: readonly FoundSegment[];
  readonly #scan: LogScan;
  readonly #replayFrom: Position;

  constructor(files: FileLayer, segments: readonly FoundSegment[], scan: LogScan, replayFrom: Position) {
    this.#files = files;
    this.#segments = segments;
    this.#scan = scan;
    this.#replayFrom = replayFrom;
  }

  async walk(segment: FoundSegment): Promise<void> {
    // What the log does not need: it goes when the store is opened.
    if (this.#scan.empty.includes(segment) && this.#scan.damage === undefined) return;
    let entries = 0;
    let position = segment.start;
    const to = this.#endOf(segment);
    for (;;) {
      const walked = await walkSegment(this.#files, {
        segment,
        from: position,
        to,
        visit: (bytes, at) => {
          if (kindOf(bytes, at) === DATA) entries += 1;
        },
      });
      position = walked.end;
      if (walked.stop === 'end') break;
      const { first } = await searchSegment(this.#files, segment, position + 1);
      const next = first !== undefined && (to === undefined || first < to) ? first : undefined;
      if (next === undefined && to === undefined) break;
      // Behind the start of the replay the scan has judged already.
      if (position < this.#replayFrom) {
        const offset = position - segment.start;
        this.damages.push({ path: segment.path, offset, position, end: next ?? to, what: 'a damaged entry' });
      }
      if (next === undefined) break;
      position = next;
    }
    const bytes = position - segment.start;
    this.reports.push({ path: segment.path, extent: segment.extent, epoch: segment.epoch, bytes, entries });
  }

  /** Where the segment's part of the log ends, when the next segment is there to say so. */
  #endOf(segment: FoundSegment): Position | undefined {
    const next = this.#segments.find((other) => other.extent > segment.extent && other.logEnd !== undefined);
    const end = next?.logEnd;
    if (end === undefined || end <= segment.start) return undefined;
    // Segments between the two were given up: the end it names is that of another one.
    return end <= segment.start + segment.size ? end : undefined;
  }
}
