import type { Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient, inPath } from './api-client.js';
import type { Terminal } from './output.js';
import { table } from './table.js';

const alias = z.object({ alias: z.string(), channel: z.string() });

/** `polymq alias add|remove|list`, spoken to a running broker's API port. */
export function aliasCommand(program: Command, terminal: Terminal): void {
  const group = program.command('alias').description('make two names one channel');
  const add = addApi(group.command('add <alias> <channel>'), terminal)
    .description('make <alias> another name of <channel>')
    .action(async (name: string, channel: string) => {
      await new ApiClient(add).post(alias, 'aliases', { alias: name, channel });
      terminal.out(`${name} -> ${channel}\n`);
    });
  const remove = addApi(group.command('remove <alias>'), terminal)
    .description('take the name away; the channel stays')
    .action(async (name: string) => {
      await new ApiClient(remove).delete(`aliases/${inPath(name)}`);
      terminal.out(`${name} removed\n`);
    });
  const list = addApi(group.command('list'), terminal)
    .description('list all aliases')
    .option('--json', 'print JSON, one object a line')
    .action(async () => {
      const { aliases } = await new ApiClient(list).get(z.object({ aliases: z.array(alias) }), 'aliases');
      if (list.opts<{ json?: boolean }>().json === true) {
        for (const one of aliases) terminal.out(`${JSON.stringify(one)}\n`);
      } else {
        terminal.out(
          table(aliases, [
            { heading: 'ALIAS', value: (row) => row.alias },
            { heading: 'CHANNEL', value: (row) => row.channel },
          ]),
        );
      }
    });
}
