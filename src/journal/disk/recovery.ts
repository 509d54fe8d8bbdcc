import { basename, join } from 'node:path';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { Position } from '../../core/ports/journal.js';
import { DATA, END, kindOf, syncedBelowOf } from './entry.js';
import type { FileLayer } from './file-layer.js';
import { STEP_BYTES, syncFile, writeAt, writeWhole } from './files.js';
import { tornName } from './layout.js';
import { searchSegment, walkSegment } from './scan.js';
import type { FoundSegment } from './scan.js';

export type Visit = (position: Position, payload: Uint8Array) => void;

/** A place below which everything was known to be durable and is not whole. */
export interface Damage {
  readonly path: string;
  readonly offset: number;
  readonly position: Position;
  /** Where the part of the log ends that must be whole; undefined when only entries behind the place tell that it must. */
  readonly end: Position | undefined;
  /** What was found there, in a few words. */
  readonly what: string;
}

/** What was never known to be durable and is not whole: cut off, as if it had not been written. */
export interface TornTail {
  readonly position: Position;
  /** The segment it lies in; undefined when not even that is there. */
  readonly segment: FoundSegment | undefined;
  /** Whole entries behind the first broken one; they go too, since what was between is gone. */
  readonly entries: number;
  readonly bytes: number;
}

/** What a scan of the log from some position on found. */
export interface LogScan {
  readonly logEnd: Position;
  readonly entries: number;
  /** The log ends with the mark of a clean close. */
  readonly clean: boolean;
  /** Everything below is known to be durable. */
  readonly syncedBelow: Position;
  readonly damage: Damage | undefined;
  readonly torn: TornTail | undefined;
  /** Segments that hold part of the log. */
  readonly live: readonly FoundSegment[];
  /** Segments that hold nothing of it: lost groups, files made and never used, what lies behind a torn place. */
  readonly empty: readonly FoundSegment[];
}

interface ChainLink {
  readonly segment: FoundSegment;
  /** Where its part of the log ends, as the next segment says; undefined when that one is not there or cannot say. */
  readonly end: Position | undefined;
  readonly isLast: boolean;
}

/**
 * Reads the log from `from` on. Entries tell what was durable when they were written: a place that is not whole is damage
 * when a later entry knew it to be durable, and the torn tail of the last writes otherwise.
 */
export async function scanLog(
  files: FileLayer,
  segments: readonly FoundSegment[],
  from: Position,
  visit: Visit,
): Promise<LogScan> {
  const { chain, missing } = chainOf(segments, from);
  const scan = new Scan(files, segments, from);
  if (missing !== undefined) {
    await scan.judgeMissing(missing);
    return scan.finish(chain);
  }
  for (const link of chain) {
    if (!(await scan.walk(link, visit))) break;
  }
  return scan.finish(chain);
}

class Scan {
  readonly #files: FileLayer;
  readonly #segments: readonly FoundSegment[];
  #logEnd: Position;
  #syncedBelow: Position;
  #entries = 0;
  #clean = false;
  #live: FoundSegment[] = [];
  #damage: Damage | undefined;
  #torn: TornTail | undefined;

  constructor(files: FileLayer, segments: readonly FoundSegment[], from: Position) {
    this.#files = files;
    this.#segments = segments;
    this.#logEnd = from;
    this.#syncedBelow = from;
  }

  /** Visits one segment's part of the log. False when the log ends in it. */
  async walk(link: ChainLink, visit: Visit): Promise<boolean> {
    const { segment, end } = link;
    const walked = await walkSegment(this.#files, {
      segment,
      from: Math.max(segment.start, this.#logEnd),
      to: end,
      visit: (bytes, at, position, length) => {
        const kind = kindOf(bytes, at);
        this.#clean = kind === END;
        const known = syncedBelowOf(bytes, at, position);
        if (known > this.#syncedBelow) this.#syncedBelow = known;
        if (kind !== DATA) return;
        this.#entries += 1;
        visit(position + ENTRY_HEADER_BYTES, bytes.subarray(at + ENTRY_HEADER_BYTES, at + length));
      },
    });
    const holdsSome = walked.end > segment.start;
    if (holdsSome) {
      this.#live.push(segment);
      this.#logEnd = walked.end;
    }
    if (walked.stop === 'end') return true;
    if (end === undefined && holdsSome && walked.stop === 'absent') {
      if (link.isLast && this.#clean) return false;
      // The next one cannot say where this one ends: nothing is wrong as long as nothing lies behind.
      const behind = link.isLast ? undefined : await searchSegment(this.#files, segment, walked.end);
      if (behind?.entries === 0) return true;
    }
    await this.#judge(link, walked.end, walked.stop === 'damaged' || end !== undefined);
    return false;
  }

  /** Damage or torn tail? Whatever entries lie behind the place know. */
  async #judge({ segment, end }: ChainLink, hole: Position, broken: boolean): Promise<void> {
    let entries = 0;
    let bytes = 0;
    let knownBelow = 0;
    for (const behind of this.#segments) {
      if (behind.extent < segment.extent) continue;
      const from = behind === segment ? hole : behind.start;
      const remains = await searchSegment(this.#files, behind, from);
      entries += remains.entries;
      bytes += remains.end - from;
      knownBelow = Math.max(knownBelow, remains.syncedBelow);
    }
    const offset = hole - segment.start;
    if (knownBelow > hole) {
      const what = offset === 0 ? 'its first entry is damaged' : 'a damaged entry';
      this.#damage = { path: segment.path, offset, position: hole, end, what };
    } else if (broken || entries > 0) {
      const position = offset === 0 ? this.#logEnd : hole;
      this.#torn = { position, segment: offset === 0 ? undefined : segment, entries, bytes };
    }
  }

  /** The log cannot be followed from where it should begin: is what is missing there known to have been durable? */
  async judgeMissing(missing: Damage): Promise<void> {
    const hole = this.#logEnd;
    let entries = 0;
    let bytes = 0;
    for (const segment of this.#segments) {
      if (segment.start < hole) continue;
      const remains = await searchSegment(this.#files, segment, segment.start);
      if (remains.syncedBelow > hole) this.#damage = missing;
      entries += remains.entries;
      bytes += remains.end - segment.start;
    }
    if (this.#damage === undefined && entries > 0) {
      this.#torn = { position: hole, segment: undefined, entries, bytes };
    }
  }

  finish(chain: readonly ChainLink[]): LogScan {
    const first = chain[0]?.segment.start ?? this.#logEnd;
    return {
      logEnd: this.#logEnd,
      entries: this.#entries,
      clean: this.#clean && this.#torn === undefined,
      syncedBelow: Math.min(this.#syncedBelow, this.#logEnd),
      damage: this.#damage,
      torn: this.#torn,
      live: this.#live,
      empty: this.#segments.filter((segment) => segment.start >= first && !this.#live.includes(segment)),
    };
  }
}

/** The segments that hold the log from `from` on, each with its end: every segment says where the log in front of it ends. */
function chainOf(
  segments: readonly FoundSegment[],
  from: Position,
): { readonly chain: readonly ChainLink[]; readonly missing: Damage | undefined } {
  const chain: ChainLink[] = [];
  let end: Position | undefined;
  for (const segment of [...segments].reverse()) {
    // The log goes back no further.
    if (end !== undefined && end <= from) break;
    // Never made part of the log: the segment behind it begins where an earlier one ended.
    if (end !== undefined && segment.start >= end) continue;
    chain.unshift({ segment, end, isLast: chain.length === 0 });
    if (segment.start <= from) return { chain, missing: undefined };
    end = segment.logEnd;
  }
  const first = chain[0]?.segment;
  if (first === undefined || end === undefined || end <= from) return { chain, missing: undefined };
  const what = `the segment before it, which ends at position ${end}, is missing`;
  const damage = { path: first.path, offset: 0, position: first.start, end: undefined, what };
  return { chain, missing: damage };
}

/** Refuses a damaged store, saying where and what can be done. */
export function damageError(directory: string, damage: Damage): BrokerError {
  return new BrokerError(
    'precondition',
    `the store is damaged: ${damage.path} at offset ${damage.offset}: ${damage.what}. Nothing was changed. ` +
      `Restore it from a backup, or see what can be kept with: polymq store repair ${directory}`,
  );
}

/** Makes the found end of the log the real one: what lies behind is set aside, what may only be in memory is written again. */
export async function settleLog(files: FileLayer, directory: string, scan: LogScan, log: Log): Promise<void> {
  if (scan.torn !== undefined) {
    const { torn } = scan;
    const { segment } = torn;
    if (segment !== undefined) await setAside(files, directory, torn.position, segment);
    log.warn('the last writes before the end were not whole and have been cut off', {
      ...(segment === undefined
        ? {}
        : { file: basename(segment.path), offset: torn.position - segment.start }),
      position: torn.position,
      wholeEntriesBehind: torn.entries,
      keptIn: tornName(torn.position),
    });
  }
  for (const segment of scan.empty) {
    const aside = join(directory, tornName(segment.start));
    if (scan.torn !== undefined && segment.start >= scan.torn.position)
      await files.rename(segment.path, aside);
    else await files.remove(segment.path);
  }
  await rewriteTail(files, scan);
  await files.syncDirectory(directory);
}

async function setAside(
  files: FileLayer,
  directory: string,
  from: Position,
  segment: FoundSegment,
): Promise<void> {
  const file = await files.open(segment.path, 'read');
  try {
    const offset = from - segment.start;
    const bytes = Buffer.allocUnsafeSlow(Math.max(0, segment.size - offset));
    const count = await file.read(bytes, offset);
    await writeWhole(files, directory, tornName(from), [bytes.subarray(0, count)]);
  } finally {
    await file.close();
  }
}

/**
 * Writes what nobody knows to be durable once more, then syncs it. A sync alone would not do: after a failed one the system
 * may hold pages in memory that it believes written.
 */
async function rewriteTail(files: FileLayer, scan: LogScan): Promise<void> {
  for (const segment of scan.live) {
    const end = Math.min(segment.size, scan.logEnd - segment.start);
    if (segment.start + end <= scan.syncedBelow && segment.size === end) continue;
    const file = await files.open(segment.path, 'write');
    try {
      if (segment === scan.live.at(-1) && segment.size > end) await file.truncate(end);
      for (let at = Math.max(0, scan.syncedBelow - segment.start); at < end; at += STEP_BYTES) {
        const step = Buffer.allocUnsafeSlow(Math.min(STEP_BYTES, end - at));
        await file.read(step, at);
        await writeAt(file, step, at);
      }
      await syncFile(file);
    } finally {
      await file.close();
    }
  }
}
