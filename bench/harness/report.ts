import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { RESULTS } from './paths.js';
import type { BenchOptions } from './options.js';

/** One line of the table: our figure beside one that it is compared with. */
export interface Row {
  readonly id: string;
  readonly measure: string;
  readonly unit: string;
  readonly ours: number | undefined;
  /** What `other` is: a ceiling, a peer or a bound. */
  readonly against: string;
  readonly other: number | undefined;
  /** Target for `ours / other`, or for `ours` itself when there is nothing to compare with. Absent: for information. */
  readonly target?: { readonly kind: 'at-least' | 'at-most'; readonly value: number } | undefined;
  readonly note?: string | undefined;
}

export type Verdict = 'met' | 'NOT MET' | 'not measured' | '';

export function ratio(row: Row): number | undefined {
  if (row.ours === undefined) return undefined;
  if (row.against === '') return row.ours;
  return row.other === undefined ? undefined : row.ours / row.other;
}

export function verdict(row: Row): Verdict {
  if (row.target === undefined) return '';
  const value = ratio(row);
  if (value === undefined || Number.isNaN(value)) return 'not measured';
  return (row.target.kind === 'at-least' ? value >= row.target.value : value <= row.target.value)
    ? 'met'
    : 'NOT MET';
}

/** The table people read. */
export function table(rows: readonly Row[]): string {
  const head = ['measure', 'unit', 'ours', 'against', 'its figure', 'ratio', 'target', 'verdict'];
  const lines = rows.map((row) => [
    row.measure,
    row.unit,
    number(row.ours),
    row.against === '' ? '–' : row.against,
    row.against === '' ? '–' : number(row.other),
    row.against === '' ? '–' : number(ratio(row)),
    row.target === undefined
      ? '–'
      : `${row.target.kind === 'at-least' ? '≥' : '≤'} ${String(row.target.value)}`,
    verdict(row),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? '').length)),
  );
  const format = (line: readonly string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const notes = new Set(
    rows.flatMap(({ id, note }) =>
      (note ?? '').split('; ').map((part) => (part === '' ? '' : `${id}: ${part}`)),
    ),
  );
  notes.delete('');
  const ruler = format(widths.map((width) => '-'.repeat(width)));
  return [format(head), ruler, ...lines.map(format), '', ...notes].join('\n');
}

/** Writes everything measured under bench/results and gives the path. */
export function writeResults(
  options: BenchOptions,
  rows: readonly Row[],
  details: readonly unknown[],
): string {
  mkdirSync(RESULTS, { recursive: true });
  const at = new Date().toISOString();
  const path = join(RESULTS, `${at.replaceAll(/[:.]/g, '-')}.json`);
  const machine = {
    node: process.version,
    cores: cpus().length,
    processor: cpus()[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
  const table = rows.map((row) => ({ ...row, ratio: ratio(row), verdict: verdict(row) }));
  writeFileSync(path, `${JSON.stringify({ at, machine, options, table, details }, undefined, 2)}\n`);
  return path;
}

function number(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '?';
  if (value >= 100) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
  return value.toFixed(value >= 10 ? 1 : 2);
}
