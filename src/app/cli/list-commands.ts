import { Option, type Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient } from './api-client.js';
import type { Terminal } from './output.js';
import { size, table, type Column } from './table.js';

const queue = z.object({
  channel: z.string(),
  ready: z.number(),
  delayed: z.number(),
  inFlight: z.number(),
  bytes: z.number(),
  subChannels: z.number(),
  consumers: z.number(),
  waiters: z.number(),
});
const log = z.object({
  channel: z.string(),
  events: z.number(),
  bytes: z.number(),
  firstSequence: z.number(),
  lastSequence: z.number(),
  subscriptions: z.number(),
});
const channel = z.object({
  kind: z.string(),
  channel: z.string(),
  messages: z.number(),
  subscribers: z.number(),
});

const more = { more: z.boolean() };

/** `polymq queues|logs|channels list`. */
export function listCommands(program: Command, terminal: Terminal): void {
  const queues = program.command('queues').description('the queues of a running broker');
  const list = (group: Command, what: string): Command =>
    addApi(group.command('list [prefix]'), terminal)
      .description(`list ${what}, those whose names begin with <prefix>`)
      .option('--json', 'print JSON, one object a line');

  const queuesList = list(queues, 'queues with what is in them').action(async (prefix: string = '') => {
    const answer = await new ApiClient(queuesList).get(
      z.object({ queues: z.array(queue.loose()), ...more }),
      `queues?prefix=${encodeURIComponent(prefix)}`,
    );
    print(terminal, queuesList, { rows: answer.queues, more: answer.more }, [
      { heading: 'QUEUE', value: (row) => row.channel },
      { heading: 'READY', value: (row) => row.ready },
      { heading: 'DELAYED', value: (row) => row.delayed },
      { heading: 'IN FLIGHT', value: (row) => row.inFlight },
      { heading: 'CONSUMERS', value: (row) => row.consumers + row.waiters },
      { heading: 'SIZE', value: (row) => size(row.bytes) },
    ]);
  });

  const logs = program
    .command('logs')
    .description('the logs (Events Store, Pub/Sub topics) of a running broker');
  const logsList = list(logs, 'logs').action(async (prefix: string = '') => {
    const answer = await new ApiClient(logsList).get(
      z.object({ logs: z.array(log.loose()), ...more }),
      `logs?prefix=${encodeURIComponent(prefix)}`,
    );
    print(terminal, logsList, { rows: answer.logs, more: answer.more }, [
      { heading: 'LOG', value: (row) => row.channel },
      { heading: 'EVENTS', value: (row) => row.events },
      { heading: 'FIRST', value: (row) => row.firstSequence },
      { heading: 'LAST', value: (row) => row.lastSequence },
      { heading: 'READERS', value: (row) => row.subscriptions },
      { heading: 'SIZE', value: (row) => size(row.bytes) },
    ]);
  });

  const channels = program.command('channels').description('all channels of a running broker');
  const channelsList = list(channels, 'channels of every kind')
    .addOption(
      new Option('--kind <kind>', 'only these').choices(['queue', 'log', 'events', 'commands', 'queries']),
    )
    .action(async (prefix: string = '') => {
      const { kind } = channelsList.opts<{ kind?: string }>();
      const answer = await new ApiClient(channelsList).get(
        z.object({ channels: z.array(channel.loose()), ...more }),
        `channels?prefix=${encodeURIComponent(prefix)}${kind === undefined ? '' : `&kind=${kind}`}`,
      );
      print(terminal, channelsList, { rows: answer.channels, more: answer.more }, [
        { heading: 'KIND', value: (row) => row.kind },
        { heading: 'CHANNEL', value: (row) => row.channel },
        { heading: 'MESSAGES', value: (row) => row.messages },
        { heading: 'SUBSCRIBERS', value: (row) => row.subscribers },
      ]);
    });
}

function print<Row>(
  terminal: Terminal,
  command: Command,
  answer: { readonly rows: readonly Row[]; readonly more: boolean },
  columns: readonly Column<Row>[],
): void {
  const { rows } = answer;
  if (command.opts<{ json?: boolean }>().json === true) {
    for (const row of rows) terminal.out(`${JSON.stringify(row)}\n`);
  } else {
    terminal.out(table(rows, columns));
  }
  if (answer.more) terminal.error('polymq: there are more; narrow them down with a prefix\n');
}
