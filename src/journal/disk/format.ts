import { join } from 'node:path';
import { BrokerError } from '../../core/errors.js';
import type { FileLayer } from './file-layer.js';
import { readWhole, writeWhole } from './files.js';
import { FORMAT_FILE } from './layout.js';

/** The newest format this program writes, and the oldest it can upgrade. */
export const FORMAT = 1;

/** What a store says about itself. */
export interface StoreFormat {
  readonly format: number;
  readonly extentBytes: number;
  /** How often it was opened for writing; every entry carries its writer's. */
  readonly epoch: number;
}

/** The store's format file; undefined when the directory holds no store yet. */
export async function readFormat(files: FileLayer, directory: string): Promise<StoreFormat | undefined> {
  if (!(await files.list(directory)).includes(FORMAT_FILE)) return undefined;
  const path = join(directory, FORMAT_FILE);
  const text = Buffer.from(await readWhole(files, path)).toString('utf8');
  const fields = parse(text);
  if (fields === undefined) {
    throw new BrokerError(
      'precondition',
      `${path} is damaged; restore it from a backup or see docs/storage.md`,
    );
  }
  if (fields.format > FORMAT) {
    throw new BrokerError(
      'precondition',
      `the store in ${directory} has format ${fields.format}; this version of polymq knows formats up to ${FORMAT}. ` +
        'Use the version that wrote it, or a newer one',
    );
  }
  return fields;
}

/** Replaces the format file atomically and durably. */
export async function writeFormat(files: FileLayer, directory: string, format: StoreFormat): Promise<void> {
  await writeWhole(files, directory, FORMAT_FILE, [Buffer.from(`${JSON.stringify(format)}\n`)]);
}

function parse(text: string): StoreFormat | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { format, extentBytes, epoch } = value as Partial<Record<keyof StoreFormat, unknown>>;
  const whole = [format, extentBytes, epoch].every(
    (n) => typeof n === 'number' && Number.isSafeInteger(n) && n > 0,
  );
  return whole ? (value as StoreFormat) : undefined;
}
