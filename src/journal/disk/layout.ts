/** Names in a store directory, and the numbers they carry. */

export const FORMAT_FILE = 'format';
export const TEMPORARY_SUFFIX = '.tmp';

export interface SegmentName {
  readonly extent: number;
  readonly epoch: number;
}

export function segmentName(extent: number, epoch: number): string {
  return `segment-${String(extent).padStart(10, '0')}-${String(epoch).padStart(6, '0')}`;
}

export function parseSegmentName(name: string): SegmentName | undefined {
  const match = /^segment-(\d{10,})-(\d{6,})$/.exec(name);
  return match === null ? undefined : { extent: Number(match[1]), epoch: Number(match[2]) };
}

export function checkpointName(position: number): string {
  return `checkpoint-${String(position).padStart(16, '0')}`;
}

/** Position of a checkpoint file. */
export function parseCheckpointName(name: string): number | undefined {
  const match = /^checkpoint-(\d{16,})$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

export function spareName(number: number): string {
  return `spare-${number}`;
}

export function parseSpareName(name: string): number | undefined {
  const match = /^spare-(\d+)$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** Bytes that were cut off, kept for whoever wants to look at them. */
export function tornName(position: number): string {
  return `torn-${String(position).padStart(16, '0')}`;
}
