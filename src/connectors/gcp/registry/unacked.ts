import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { ProtobufReader, varintLength, writeVarint } from '../wire/protobuf.js';

/** Characters of one part of an encoded list; a registry value holds 1 MiB. */
const PART_CHARS = 700_000;
/** More is no list of this connector's. */
const RUNS_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * Runs of sequences (first and length, one after the other, ascending) as text in parts: each run as its distance from the end
 * of the one before and its length, as varints, deflated, in base64.
 */
export function encodeRuns(runs: readonly number[]): readonly string[] {
  let bytes = 0;
  eachStep(runs, (gap, length) => (bytes += varintLength(gap) + varintLength(length)));
  const out = Buffer.alloc(bytes);
  let at = 0;
  eachStep(runs, (gap, length) => {
    at = writeVarint(out, at, gap);
    at = writeVarint(out, at, length);
  });
  const text = deflateRawSync(out).toString('base64');
  const parts: string[] = [];
  for (let from = 0; from === 0 || from < text.length; from += PART_CHARS) {
    parts.push(text.slice(from, from + PART_CHARS));
  }
  return parts;
}

function eachStep(runs: readonly number[], step: (gap: number, length: number) => void): void {
  let end = 0;
  for (let i = 0; i < runs.length; i += 2) {
    const first = runs[i] ?? 0;
    const length = runs[i + 1] ?? 0;
    step(first - end, length);
    end = first + length;
  }
}

/** The other way round. */
export function decodeRuns(text: string): readonly number[] {
  const bytes = inflateRawSync(Buffer.from(text, 'base64'), { maxOutputLength: RUNS_BYTES_MAX });
  const reader = new ProtobufReader(bytes);
  const runs: number[] = [];
  let end = 0;
  while (reader.at < reader.end) {
    const first = end + reader.int64();
    const length = reader.int64();
    runs.push(first, length);
    end = first + length;
  }
  return runs;
}

/** Whether a sequence is in one of the runs. Fastest when asked in ascending order. */
export function runsHave(runs: readonly number[]): (sequence: number) => boolean {
  let at = 0;
  return (sequence) => {
    if (sequence < (runs[at] ?? 0)) at = 0;
    while (at < runs.length && sequence >= (runs[at] ?? 0) + (runs[at + 1] ?? 0)) at += 2;
    return at < runs.length && sequence >= (runs[at] ?? 0);
  };
}
