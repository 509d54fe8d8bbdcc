import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient, inPath } from './api-client.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { Progress } from './progress.js';
import { oneLine, table } from './table.js';

export const message = z.looseObject({
  id: z.string(),
  body: z.string(),
  bodyEncoding: z.enum(['text', 'base64']),
  sequence: z.number(),
});
const queueMessages = z.object({
  messages: z.array(message.extend({ enqueuedAt: z.number(), receiveCount: z.number() })),
});
const purged = z.object({ ready: z.number(), delayed: z.number(), inFlight: z.number() });
const stats = z.object({
  queues: z.array(
    z.object({ channel: z.string(), ready: z.number(), delayed: z.number(), inFlight: z.number() }),
  ),
});

/** Messages of one call of the API. */
export const CALL_MESSAGES_MAX = 1000;
/** How long one call waits for a message; longer waits take several. */
export const CALL_WAIT_MS = 20_000;

export function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

export function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('It must be a number of seconds.');
  return value;
}

interface Json {
  readonly json?: boolean;
}

/** `polymq receive|peek|purge|move`. */
export function messageCommands(program: Command, terminal: Terminal): void {
  receiveCommand(program, terminal);
  peekCommand(program, terminal);
  purgeCommand(program, terminal);
  moveCommand(program, terminal);
}

function receiveCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('receive <queue>'), terminal)
    .description(
      `take messages out of a queue and print their bodies; exit code ${EXIT.empty} when there is none`,
    )
    .option('-n, --max <count>', 'how many at most', whole, 1)
    .option('-w, --wait <seconds>', 'wait so long for the first one', seconds, 0)
    .option('--json', 'print JSON with everything of a message, one object a line')
    .action(async (queue: string) => {
      const { max, wait, json } = command.opts<Json & { max: number; wait: number }>();
      const api = new ApiClient(command);
      let got = 0;
      let waitLeftMs = wait * 1000;
      while (got < max) {
        const waitMs = got > 0 ? 0 : Math.min(waitLeftMs, CALL_WAIT_MS);
        waitLeftMs -= waitMs;
        const asked = { max: Math.min(max - got, CALL_MESSAGES_MAX), waitMs };
        const { messages } = await api.post(queueMessages, `queues/${inPath(queue)}/receive`, asked, waitMs);
        for (const one of messages) terminal.out(`${json === true ? JSON.stringify(one) : one.body}\n`);
        got += messages.length;
        if (messages.length === 0 && (got > 0 || waitLeftMs <= 0)) break;
      }
      if (got === 0) throw new CommandFailure(EXIT.empty, []);
    });
}

function peekCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('peek <queue>'), terminal)
    .description(
      `look at the front of a queue without touching it; exit code ${EXIT.empty} when nothing is ready`,
    )
    .option('-n, --max <count>', 'how many at most (1000 is the most)', whole, 10)
    .option('--json', 'print JSON with everything of a message, one object a line')
    .action(async (queue: string) => {
      const { max, json } = command.opts<Json & { max: number }>();
      const path = `queues/${inPath(queue)}/messages?max=${Math.min(max, CALL_MESSAGES_MAX)}`;
      const { messages } = await new ApiClient(command).get(queueMessages, path);
      if (messages.length === 0) throw new CommandFailure(EXIT.empty, []);
      if (json === true) {
        for (const one of messages) terminal.out(`${JSON.stringify(one)}\n`);
        return;
      }
      terminal.out(
        table(messages, [
          { heading: 'SEQUENCE', value: (row) => row.sequence },
          { heading: 'ENQUEUED', value: (row) => new Date(row.enqueuedAt).toISOString() },
          { heading: 'RECEIVED', value: (row) => row.receiveCount },
          { heading: 'ID', value: (row) => row.id },
          { heading: 'BODY', value: (row) => oneLine(row.body) },
        ]),
      );
    });
}

function purgeCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('purge <queue>'), terminal)
    .description('drop everything in a queue that nobody holds')
    .option('--in-flight', 'also what consumers hold')
    .option('-y, --yes', 'really do it; without, it is only said what would go')
    .option('--json', 'print JSON')
    .action(async (queue: string) => {
      const { inFlight = false, yes, json } = command.opts<Json & { inFlight?: boolean; yes?: boolean }>();
      const api = new ApiClient(command);
      if (yes !== true) {
        const { queues } = await api.get(stats, `queues?prefix=${encodeURIComponent(queue)}`);
        const found = queues.find(({ channel }) => channel === queue);
        if (found === undefined) throw new CommandFailure(EXIT.failed, [`there is no queue ${queue}`]);
        const count = found.ready + found.delayed + (inFlight ? found.inFlight : 0);
        throw new CommandFailure(EXIT.usage, [
          `${count} messages of ${queue} would be dropped; add --yes to do it`,
        ]);
      }
      const gone = await api.post(purged, `queues/${inPath(queue)}/purge`, { inFlight });
      const total = gone.ready + gone.delayed + gone.inFlight;
      terminal.out(json === true ? `${JSON.stringify(gone)}\n` : `${total} messages dropped\n`);
    });
}

function moveCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('move <from> <to>'), terminal)
    .description(
      'move what is ready in one queue to another, e.g. dead letters back; each message in one step',
    )
    .option('-n, --max <count>', 'how many at most (default: what is there now)', whole)
    .option('--json', 'print JSON')
    .action(async (from: string, to: string) => {
      const { max, json } = command.opts<Json & { max?: number }>();
      const api = new ApiClient(command);
      const { queues } = await api.get(stats, `queues?prefix=${encodeURIComponent(from)}`);
      // What comes while we move is left: else two queues that feed each other would never be done.
      const there = queues.find(({ channel }) => channel === from)?.ready;
      const total = Math.min(max ?? Infinity, there ?? max ?? CALL_MESSAGES_MAX);
      const progress = new Progress(terminal, 'moved');
      let done = 0;
      do {
        const asked = { to, max: Math.max(1, Math.min(total - done, CALL_MESSAGES_MAX)) };
        const { moved } = await api.post(
          z.object({ moved: z.number() }),
          `queues/${inPath(from)}/move`,
          asked,
        );
        if (moved === 0) break;
        done += moved;
        progress.show(done, terminal.clock.now(), total);
      } while (done < total);
      progress.end();
      terminal.out(
        json === true ? `${JSON.stringify({ moved: done })}\n` : `${done} messages moved to ${to}\n`,
      );
    });
}
