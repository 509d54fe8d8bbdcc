import type { Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient } from './api-client.js';
import type { Terminal } from './output.js';
import { table } from './table.js';

const status = z.object({
  node: z.string(),
  leaseLeftMs: z.number().optional(),
  members: z.array(
    z.object({ id: z.string(), host: z.string(), role: z.string(), epoch: z.number(), lag: z.number() }),
  ),
});

/** `polymq cluster status`, asked of any node, whether it serves or waits. */
export function clusterCommand(program: Command, terminal: Terminal): void {
  const group = program.command('cluster').description('the nodes of a cluster');
  const show = addApi(group.command('status'), terminal)
    .description('who is there, who serves, and how far the others are behind')
    .option('--json', 'print JSON')
    .action(async () => {
      const found = await new ApiClient(show).get(status, 'cluster');
      if (show.opts<{ json?: boolean }>().json === true) {
        terminal.out(`${JSON.stringify(found)}\n`);
        return;
      }
      const { node, leaseLeftMs } = found;
      terminal.out(
        table(found.members, [
          { heading: 'MEMBER', value: ({ id }) => (id === node ? `${id} *` : id) },
          { heading: 'HOST', value: ({ host }) => host },
          { heading: 'ROLE', value: ({ role }) => role },
          { heading: 'EPOCH', value: ({ epoch }) => epoch },
          { heading: 'LAG', value: ({ lag }) => lag },
        ]),
      );
      if (leaseLeftMs !== undefined)
        terminal.out(`the lease of * lasts ${leaseLeftMs} ms without a renewal\n`);
    });
}
