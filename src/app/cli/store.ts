import type { Command } from 'commander';
import { SystemIds } from '../../base/ids.js';
import { silentLog } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import {
  exportState,
  importState,
  type PortableFigures,
  type PortableParts,
} from '../../core/partition/portable.js';
import { repairStore, verifyStore, type RepairStep, type StoreReport } from '../../journal/disk/index.js';
import { readStoreFile, writeStoreFile } from '../store-file.js';
import { withStoppedStore } from '../stopped-store.js';
import { addSettings, configOf } from './options.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { size } from './table.js';

/** `polymq store verify|repair <directory>` and `polymq store export|import <file>`. All want the broker to be stopped. */
export function storeCommand(program: Command, terminal: Terminal): void {
  const group = program.command('store').description('look at a store, repair it, or carry it elsewhere');
  group
    .command('verify <directory>')
    .description('read all of a store and say what is wrong with it; changes nothing')
    .action(async (directory: string) => {
      await verify(directory, terminal);
    });
  group
    .command('repair <directory>')
    .description('say exactly what would be dropped to make a damaged store open again')
    .option('--apply', 'and do it; what is dropped is kept aside in files named torn-*')
    .action(async (directory: string, options: { apply?: boolean }) => {
      await repair(directory, options.apply === true, terminal);
    });
  const exporting = group
    .command('export <file>')
    .description('write everything the configured store holds into a new file');
  addSettings(exporting).action(async (file: string) => {
    await carry(exporting, terminal, {
      done: 'exported',
      act: (parts) => writeStoreFile(file, exportState(parts)),
    });
  });
  const importing = group
    .command('import <file>')
    .description('fill the configured store, which must be empty, from such a file');
  addSettings(importing).action(async (file: string) => {
    await carry(importing, terminal, {
      done: 'imported',
      act: (parts) => importState(parts, readStoreFile(file)),
    });
  });
}

async function carry(
  command: Command,
  terminal: Terminal,
  work: { readonly done: string; readonly act: (parts: PortableParts) => Promise<PortableFigures> },
): Promise<void> {
  const { config } = await configOf(command, terminal);
  const { clock } = terminal;
  const log = silentLog;
  const figures = await orFailure(() =>
    withStoppedStore({ config, clock, ids: new SystemIds(), log }, (journal) =>
      work.act({ journal, clock, log }),
    ),
  );
  const { messages, events, bodies, bytes } = figures;
  terminal.out(`${work.done} ${messages} messages and ${events} events: ${bodies} bodies, ${size(bytes)}\n`);
}

async function verify(directory: string, terminal: Terminal): Promise<void> {
  const report = await orFailure(() => verifyStore(directory));
  if (report.format === undefined)
    throw new CommandFailure(EXIT.failed, [`there is no store in ${directory}`]);
  terminal.out(linesOf(report));
  if (isWhole(report)) return;
  throw new CommandFailure(EXIT.failed, [
    `the store is damaged; see what a repair would drop with: polymq store repair ${directory}`,
  ]);
}

function isWhole({ damages, checkpoints }: StoreReport): boolean {
  return damages.length === 0 && checkpoints.every((checkpoint) => checkpoint.whole);
}

function linesOf(report: StoreReport): string {
  const { format, segments, checkpoints, torn, damages } = report;
  const total = (read: (segment: (typeof segments)[number]) => number): number =>
    segments.reduce((sum, segment) => sum + read(segment), 0);
  const bad = checkpoints.filter((checkpoint) => !checkpoint.whole);
  const lines = [
    `store        ${report.directory}, format ${format?.format ?? 0}`,
    `segments     ${segments.length} with ${total((s) => s.entries)} entries, ${total((s) => s.bytes)} bytes`,
    `checkpoints  ${checkpoints.length}${bad.length === 0 ? '' : `, damaged: ${bad.map((c) => c.path).join(', ')}`}`,
    `next start   replays ${report.entriesToReplay} entries from position ${report.replayFrom}`,
    `last end     ${report.closed ? 'closed cleanly' : 'cut off (a crash; no damage by itself)'}`,
    ...(torn === undefined
      ? []
      : [
          `torn end     ${torn.bytes} bytes at position ${torn.position}, never confirmed; the next start sets them aside`,
        ]),
    ...damages.map((damage) => `DAMAGE       ${damage.path} at offset ${damage.offset}: ${damage.what}`),
    ...(isWhole(report) ? ['whole: nothing that was confirmed is missing'] : []),
  ];
  return `${lines.join('\n')}\n`;
}

async function repair(directory: string, apply: boolean, terminal: Terminal): Promise<void> {
  const { steps, entriesToReplay } = await orFailure(() => repairStore(directory, { apply }));
  if (steps.length === 0) {
    terminal.out('nothing to repair\n');
    return;
  }
  terminal.out(`${steps.map((step) => lineOf(step, apply)).join('\n')}\n`);
  terminal.out(`${entriesToReplay} whole entries are replayed by the next start\n`);
  if (!apply) terminal.out('nothing was changed; add --apply to do this\n');
}

function lineOf(step: RepairStep, applied: boolean): string {
  const kept = step.keptIn === undefined ? '' : `, ${applied ? 'kept' : 'to be kept'} in ${step.keptIn}`;
  return `${applied ? 'dropped' : 'would drop'} ${step.bytes} bytes of ${step.path} from offset ${step.offset}: ${step.what}${kept}`;
}

async function orFailure<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    // What the store says, and what the file system says: no such directory, no permission.
    const known = error instanceof BrokerError || (error instanceof Error && 'syscall' in error);
    if (known) throw new CommandFailure(EXIT.failed, [error.message]);
    throw error;
  }
}
