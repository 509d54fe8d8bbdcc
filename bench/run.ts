import { HELP, parseOptions, selected, type BenchOptions } from './harness/options.js';
import { CORE_MEASURES, measureCore } from './harness/core.js';
import { measureDevice } from './harness/core.js';
import { table, verdict, writeResults, type Row } from './harness/report.js';
import { MEMORY_MEASURES, measureMemory } from './harness/memory.js';
import { LATENCY_MEASURES, WIRE_MEASURES } from './harness/wire-measures.js';
import { measureLatency, measureWire } from './harness/wires.js';
import { canPin } from './harness/process.js';

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    console.log(HELP);
    return;
  }
  if (!canPin()) console.log('taskset is missing: nothing is pinned to a core, figures will be less steady');
  const rows: Row[] = [];
  const details: unknown[] = [];
  await measureAll(options, (title, more, detail) => {
    rows.push(...more);
    details.push(detail);
    console.log(`${title}: done`);
    for (const row of more) console.log(`  ${row.measure} | ${shown(row)}`);
  });
  console.log(`\n${table(rows)}\n`);
  console.log(`written to ${writeResults(options, rows, details)}`);
  if (rows.some((row) => verdict(row) === 'NOT MET')) process.exitCode = 1;
}

type Take = (title: string, rows: readonly Row[], detail: unknown) => void;

async function measureAll(options: BenchOptions, take: Take): Promise<void> {
  for (const one of CORE_MEASURES.filter(({ id }) => selected(options, id))) {
    const { rows, details } = await measureCore(one, options);
    take(one.id, rows, details);
  }
  for (const one of WIRE_MEASURES.filter(({ id }) => selected(options, id))) {
    const { rows, details } = await measureWire(one, options);
    take(one.id, rows, details);
  }
  for (const one of MEMORY_MEASURES.filter(({ id }) => selected(options, id))) {
    const { rows, details } = await measureMemory(one, options);
    take(one.id, rows, details);
  }
  const latencies = LATENCY_MEASURES.filter(({ id }) => selected(options, id));
  if (latencies.length === 0) return;
  const device = await measureDevice(options);
  for (const one of latencies) {
    const { rows, details } = await measureLatency(one, device.p99Ms, options);
    take(one.id, rows, details);
  }
}

function shown({ ours, against, other, note }: Row): string {
  const figure = (value: number | undefined) => (value === undefined ? '?' : value.toFixed(2));
  return `ours ${figure(ours)}${against === '' ? '' : `, ${against} ${figure(other)}`} | ${note ?? ''}`;
}

await main();
