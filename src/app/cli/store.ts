import type { Command } from 'commander';
import type { Terminal } from './output.js';

export function storeCommand(program: Command, _terminal: Terminal): void {
  program.command('store').description('verify or repair a store directory');
}
