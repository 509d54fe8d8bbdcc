import type { Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient, inPath, parsed } from './api-client.js';
import { CALL_MESSAGES_MAX, CALL_WAIT_MS, message, whole } from './message-commands.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { oneLine } from './table.js';

const logEvents = z.object({ events: z.array(message.extend({ storedAt: z.number() })), next: z.number() });
const liveEvent = message.omit({ sequence: true }).extend({ channel: z.string(), sentAt: z.number() });
/** Why the broker ended a stream. */
const ending = z.object({ error: z.string(), message: z.string() });

const LINES = 10;

interface TailOptions {
  readonly events?: boolean;
  readonly group?: string;
  readonly lines?: number;
  readonly from?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** `polymq tail <channel>`. */
export function tailCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('tail <channel>'), terminal)
    .description(
      'print the end of a log, and with --follow what comes; with --events live events as they come',
    )
    .option(
      '-n, --lines <count>',
      `how many events from the end (default: ${LINES}; ${CALL_MESSAGES_MAX} is the most)`,
      (text) => (text === '0' ? 0 : whole(text)),
    )
    .option('--from <sequence>', 'begin at this event instead', whole)
    .option('-f, --follow', 'go on until interrupted')
    .option(
      '-e, --events',
      'live events of a channel or of a pattern such as "orders.*" or "orders.>", until interrupted',
    )
    .option('--group <name>', 'of live events: take turns with the other members of this group')
    .option('--json', 'print JSON with everything of an event, one object a line')
    .action(async (channel: string) => {
      const options = command.opts<TailOptions>();
      const fault = faultOf(channel, options);
      if (fault !== undefined) throw new CommandFailure(EXIT.usage, [fault]);
      const api = new ApiClient(command);
      if (options.events === true) await tailEvents(api, terminal, { channel, options });
      else await tailLog(api, terminal, { log: channel, options });
    });
}

function faultOf(channel: string, { events, group, lines, from, follow }: TailOptions): string | undefined {
  if (events !== true) {
    if (/[*>]/.test(channel)) return 'a pattern is for live events: add --events';
    return group === undefined ? undefined : '--group is for live events: add --events';
  }
  if (lines === undefined && from === undefined && follow === undefined) return undefined;
  return '--lines, --from and --follow are for logs: live events are kept nowhere';
}

async function tailLog(
  api: ApiClient,
  terminal: Terminal,
  { log, options }: { readonly log: string; readonly options: TailOptions },
): Promise<void> {
  const { lines = LINES, from, follow = false, json } = options;
  const path = `logs/${inPath(log)}/events?max=${CALL_MESSAGES_MAX}`;
  const interrupted = follow ? terminal.interruption?.() : undefined;
  let next = from;
  while (interrupted?.aborted !== true) {
    const place = next === undefined ? `last=${Math.min(lines, CALL_MESSAGES_MAX)}` : `from=${next}`;
    const waitMs = follow && next !== undefined ? CALL_WAIT_MS : 0;
    const asked = api.get(logEvents, `${path}&${place}&waitMs=${waitMs}`, { waitMs, signal: interrupted });
    const answer = await asked.catch((error: unknown) => {
      if (interrupted?.aborted !== true) throw hinted(error);
    });
    if (answer === undefined) return;
    for (const event of answer.events) {
      terminal.out(
        json === true ? `${JSON.stringify(event)}\n` : lineOf(event.storedAt, event.sequence, event.body),
      );
    }
    next = answer.next;
    if (!follow && answer.events.length === 0) return;
  }
}

/** Live channels are no logs, and easily taken for them. */
function hinted(error: unknown): unknown {
  const [line] = error instanceof CommandFailure ? error.lines : [];
  if (line?.startsWith('there is no log ') !== true) return error;
  return new CommandFailure(EXIT.failed, [`${line}; live events are shown with --events`]);
}

async function tailEvents(
  api: ApiClient,
  terminal: Terminal,
  { channel, options }: { readonly channel: string; readonly options: TailOptions },
): Promise<void> {
  const { group = '', json } = options;
  const interrupted = terminal.interruption?.();
  const path = `events/${inPath(channel)}?group=${encodeURIComponent(group)}`;
  for await (const line of api.lines(path, interrupted)) {
    const value = parsed(line);
    const end = ending.safeParse(value);
    if (end.success) throw new CommandFailure(EXIT.failed, [end.data.message]);
    const event = liveEvent.safeParse(value);
    if (!event.success) throw api.strange();
    const { sentAt, channel: name, body } = event.data;
    terminal.out(json === true ? `${line}\n` : lineOf(sentAt, name, body));
  }
  if (interrupted?.aborted !== true) throw new CommandFailure(EXIT.failed, ['the broker ended the stream']);
}

/** One line for each event, whatever is in it. */
function lineOf(at: number, place: string | number, body: string): string {
  return `${new Date(at).toISOString()}  ${place}  ${oneLine(body, Infinity)}\n`;
}
