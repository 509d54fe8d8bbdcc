import { basename, join } from 'node:path';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import { listCheckpoints, readCheckpoint } from './checkpoints.js';
import { BEGIN_BYTES, beginEntry, FILLER, stampKind } from './entry.js';
import type { FileLayer } from './file-layer.js';
import { syncFile, writeAt, writeWhole } from './files.js';
import { readFormat } from './format.js';
import { checkpointName, tornName } from './layout.js';
import { nodeFiles } from './node-files.js';
import { patchedFiles } from './patched-files.js';
import type { Patch } from './patched-files.js';
import { scanLog } from './recovery.js';
import type { Damage, LogScan } from './recovery.js';
import { findSegments, searchSegment } from './scan.js';
import type { FoundSegment } from './scan.js';

/** Damaged places one call deals with. */
const STEPS_MAX = 10_000;
const ENTRY_BYTES_MIN = 24;

/** One thing a repair drops. */
export interface RepairStep {
  readonly path: string;
  readonly offset: number;
  /** Bytes from `offset` on that are given up; 0 when what is missing is a whole file. */
  readonly bytes: number;
  /** In a sentence, for people. */
  readonly what: string;
  /** Where the bytes are kept. */
  readonly keptIn: string | undefined;
}

export interface RepairReport {
  readonly directory: string;
  readonly steps: readonly RepairStep[];
  /** Whole entries that a start would replay afterwards. */
  readonly entriesToReplay: number;
  readonly applied: boolean;
}

export interface RepairOptions {
  /** Do it, instead of only saying what would be done. */
  readonly apply: boolean;
  readonly files?: FileLayer;
}

/**
 * Makes a damaged store open again by giving up what is damaged and nothing else: entries behind it stay. With `apply` the
 * bytes given up are kept in `torn-*` files first. A torn tail needs no repair: opening deals with it.
 */
export async function repairStore(directory: string, options: RepairOptions): Promise<RepairReport> {
  const files = options.files ?? nodeFiles;
  const format = await readFormat(files, directory);
  if (format === undefined) throw new BrokerError('not-found', `there is no store in ${directory}`);
  if (!options.apply) return (await planRepair(files, directory, format.extentBytes)).report;
  const lock = await files.lock(directory);
  try {
    const plan = await planRepair(files, directory, format.extentBytes);
    await plan.apply();
    return { ...plan.report, applied: true };
  } finally {
    await lock.release();
  }
}

interface Plan {
  readonly report: RepairReport;
  apply(): Promise<void>;
}

async function planRepair(files: FileLayer, directory: string, extentBytes: number): Promise<Plan> {
  const steps: RepairStep[] = [];
  const patches: Patch[] = [];
  const gone = new Set<string>();
  const from = await dropCheckpoints({ files, directory, steps, gone });
  for (;;) {
    // Seen as it would be with all that was decided so far, so that the next damage comes to light.
    const view = patchedFiles(files, patches, gone);
    const segments = await findSegments(view, directory, extentBytes);
    const scan = await scanLog(view, segments, from, () => undefined);
    if (scan.damage === undefined) {
      const report = { directory, steps, entriesToReplay: scan.entries, applied: false };
      return { report, apply: () => applyPlan(files, directory, { steps, patches, gone }) };
    }
    if (steps.length >= STEPS_MAX) {
      throw new BrokerError(
        'limit',
        `more than ${STEPS_MAX} damaged places: restore the store from a backup`,
      );
    }
    const fix = await fixFor(view, segments, scan, scan.damage);
    steps.push(fix.step);
    patches.push(...fix.patches);
  }
}

/** Damaged checkpoints go. Returns where the replay then begins. */
async function dropCheckpoints(plan: {
  readonly files: FileLayer;
  readonly directory: string;
  readonly steps: RepairStep[];
  readonly gone: Set<string>;
}): Promise<Position> {
  let from = 0;
  for (const position of await listCheckpoints(plan.files, plan.directory)) {
    const name = checkpointName(position);
    const path = join(plan.directory, name);
    if ((await readCheckpoint(plan.files, path, position)) !== undefined) {
      from = position;
      continue;
    }
    plan.gone.add(name);
    const file = await plan.files.open(path, 'read');
    const bytes = await file.size();
    await file.close();
    const keptIn = join(plan.directory, `torn-${name}`);
    plan.steps.push({ path, offset: 0, bytes, what: 'a damaged checkpoint is dropped', keptIn });
  }
  return from;
}

interface Fix {
  readonly step: RepairStep;
  readonly patches: readonly Patch[];
}

async function fixFor(
  files: FileLayer,
  segments: readonly FoundSegment[],
  scan: LogScan,
  damage: Damage,
): Promise<Fix> {
  const segment = segments.find(({ path }) => path === damage.path);
  if (segment === undefined) throw new BrokerError('internal', `${damage.path} is gone`);
  if (damage.offset > 0) return dropEntries(files, segment, damage);
  return segment.logEnd === undefined
    ? rebuildBegin(files, segment, scan.logEnd)
    : bridge(segment, segment.logEnd, scan.logEnd);
}

/** A filler takes the place of what is damaged, up to the next whole entry. */
async function dropEntries(files: FileLayer, segment: FoundSegment, damage: Damage): Promise<Fix> {
  const { first } = await searchSegment(files, segment, damage.position + 1);
  const next = first ?? damage.end;
  if (next === undefined)
    throw new BrokerError('internal', `the end of the damage in ${segment.path} is unknown`);
  const step = dropped(segment, damage.position, next, 'damaged entries are dropped');
  return { step, patches: [filler(segment, damage.position, next)] };
}

/** The first entry of a segment is made anew: it follows what was found in front of it. */
async function rebuildBegin(files: FileLayer, segment: FoundSegment, logEnd: Position): Promise<Fix> {
  const { first } = await searchSegment(files, segment, segment.start + 1);
  const after = segment.start + BEGIN_BYTES;
  const next = first ?? after;
  const patches = [beginPatch(segment, logEnd)];
  if (next > after) patches.push(filler(segment, after, next));
  const what =
    next > after
      ? 'damaged entries at the start of a segment are dropped'
      : 'the start of a segment is made anew';
  return { step: dropped(segment, segment.start, next, what), patches };
}

/** What a segment should follow is not there: it is made to follow what is. */
function bridge(segment: FoundSegment, from: Position, to: Position): Fix {
  const what = `the segments between positions ${to} and ${from} are missing; what they held is given up`;
  return {
    step: { path: segment.path, offset: 0, bytes: 0, what, keptIn: undefined },
    patches: [beginPatch(segment, to)],
  };
}

function dropped(segment: FoundSegment, from: Position, to: Position, what: string): RepairStep {
  const keptIn = join(segment.path, '..', tornName(from));
  return { path: segment.path, offset: from - segment.start, bytes: to - from, what, keptIn };
}

function beginPatch(segment: FoundSegment, logEnd: Position): Patch {
  const { start, epoch, path } = segment;
  return { path, offset: 0, bytes: beginEntry({ position: start, epoch, syncedBelow: logEnd }, logEnd) };
}

function filler(segment: FoundSegment, from: Position, to: Position): Patch {
  const length = to - from;
  if (length < ENTRY_BYTES_MIN) {
    throw new BrokerError('internal', `${length} bytes at position ${from} are too few to be an entry`);
  }
  const bytes = Buffer.alloc(length);
  stampKind(bytes, { position: from, epoch: segment.epoch, syncedBelow: from, kind: FILLER });
  return { path: segment.path, offset: from - segment.start, bytes };
}

interface Changes {
  readonly steps: readonly RepairStep[];
  readonly patches: readonly Patch[];
  readonly gone: ReadonlySet<string>;
}

/** First everything that is given up is kept, durably; then it is written over. */
async function applyPlan(files: FileLayer, directory: string, changes: Changes): Promise<void> {
  for (const { path, offset, bytes, keptIn } of changes.steps) {
    if (keptIn === undefined) continue;
    const file = await files.open(path, 'read');
    const kept = Buffer.alloc(bytes);
    const count = await file.read(kept, offset);
    await file.close();
    await writeWhole(files, directory, basename(keptIn), [kept.subarray(0, count)]);
  }
  for (const { path, offset, bytes } of changes.patches) {
    const file = await files.open(path, 'write');
    try {
      await writeAt(file, bytes, offset);
      await syncFile(file);
    } finally {
      await file.close();
    }
  }
  for (const name of changes.gone) await files.remove(join(directory, name));
  await files.syncDirectory(directory);
}
