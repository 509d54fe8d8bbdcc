import type { Command } from 'commander';
import { showConfig } from '../../ops/config/show.js';
import { SETTINGS } from '../settings.js';
import { addSettings, configOf } from './options.js';
import type { Terminal } from './output.js';

export function configCommand(program: Command, terminal: Terminal): void {
  const command = program.command('config').description('print the effective configuration, secrets hidden');
  addSettings(command).action(async () => {
    const { config, origins } = await configOf(command, terminal);
    terminal.out(showConfig(SETTINGS, config, origins));
  });
}
