import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { addApi, ApiClient, inPath } from './api-client.js';
import { seconds } from './message-commands.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { Progress } from './progress.js';

const results = z.object({
  results: z.array(
    z.union([z.object({ id: z.string(), sequence: z.number() }), z.object({ error: z.string() })]),
  ),
});
const published = z.object({ subscribers: z.number() });

/** Messages and characters of one call of the API. */
const CALL_MESSAGES_MAX = 1000;
const CALL_CHARACTERS_MAX = 8 * 1024 * 1024;

interface SendOptions {
  readonly to: 'queue' | 'log' | 'events';
  readonly file?: string;
  readonly lines?: boolean;
  readonly tag: Readonly<Record<string, string>>;
  readonly metadata?: string;
  readonly delay?: number;
  readonly expire?: number;
  readonly json?: boolean;
}

interface Outgoing {
  readonly body: string;
  readonly bodyEncoding: 'text' | 'base64';
}

/** `polymq send <channel> [message]`. */
export function sendCommand(program: Command, terminal: Terminal): void {
  const command = addApi(program.command('send <channel> [message]'), terminal)
    .description('send a message: the argument, a file, or what comes in on standard input')
    .addOption(
      new Option('--to <kind>', 'what the channel is').choices(['queue', 'log', 'events']).default('queue'),
    )
    .option('--file <path>', 'the body is in this file; - is standard input')
    .option('-l, --lines', 'each line of the file or of standard input is a message')
    .option('-t, --tag <name=value>', 'a tag; may be given several times', tags, {})
    .option('-m, --metadata <text>', 'metadata of the native API')
    .option('--delay <seconds>', 'nobody gets it before', seconds)
    .option('--expire <seconds>', 'dropped when nobody got it by then', seconds)
    .option('--json', 'print JSON')
    .action(async (channel: string, message: string | undefined) => {
      const options = command.opts<SendOptions>();
      if (options.to !== 'queue' && (options.delay ?? options.expire) !== undefined)
        throw new CommandFailure(EXIT.usage, ['--delay and --expire are for queues']);
      await send(new ApiClient(command), terminal, { channel, message, options });
    });
}

function tags(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

async function send(
  api: ApiClient,
  terminal: Terminal,
  { channel, message, options }: { channel: string; message: string | undefined; options: SendOptions },
): Promise<void> {
  const progress = new Progress(terminal, 'sent');
  let done = 0;
  let subscribers = 0;
  let batch: Outgoing[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    subscribers = Math.max(subscribers, await sendBatch(api, channel, batch, options));
    done += batch.length;
    batch = [];
    characters = 0;
    progress.show(done, terminal.clock.now());
  };
  for await (const one of bodies(terminal, message, options)) {
    batch.push(one);
    characters += one.body.length;
    if (batch.length >= CALL_MESSAGES_MAX || characters >= CALL_CHARACTERS_MAX) await flush();
  }
  await flush();
  progress.end();
  // What is live is nowhere when nobody listens.
  const isLive = options.to === 'events';
  const text = done === 1 ? `1 message sent to ${channel}` : `${done} messages sent to ${channel}`;
  const reached = isLive ? `, for ${subscribers} ${subscribers === 1 ? 'subscriber' : 'subscribers'}` : '';
  const json = { sent: done, ...(isLive && { subscribers }) };
  terminal.out(options.json === true ? `${JSON.stringify(json)}\n` : `${text}${reached}\n`);
}

/** Gives how many subscribers there were, of live events. */
async function sendBatch(
  api: ApiClient,
  channel: string,
  batch: readonly Outgoing[],
  { to, tag, metadata, delay, expire }: SendOptions,
): Promise<number> {
  const messages = batch.map((one) => ({
    ...one,
    ...(Object.keys(tag).length === 0 ? {} : { tags: tag }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(delay === undefined ? {} : { delayMs: Math.round(delay * 1000) }),
    ...(expire === undefined ? {} : { expirationMs: Math.max(1, Math.round(expire * 1000)) }),
  }));
  if (to === 'events') {
    return (await api.post(published, `events/${inPath(channel)}`, { messages })).subscribers;
  }
  const path = to === 'queue' ? `queues/${inPath(channel)}/messages` : `logs/${inPath(channel)}/events`;
  const answer = await api.post(results, path, { messages });
  const faults = answer.results.flatMap((result) => ('error' in result ? [result.error] : []));
  if (faults.length === 0) return 0;
  throw new CommandFailure(EXIT.failed, [
    `${faults.length} of ${messages.length} messages were refused`,
    ...new Set(faults),
  ]);
}

async function* bodies(
  terminal: Terminal,
  message: string | undefined,
  { file, lines }: SendOptions,
): AsyncGenerator<Outgoing> {
  if (message !== undefined) {
    if (file !== undefined) throw new CommandFailure(EXIT.usage, ['a message and --file: one of them']);
    yield { body: message, bodyEncoding: 'text' };
    return;
  }
  const input = file === undefined || file === '-' ? standardInput(terminal, lines) : [readBody(file)];
  if (lines === true) {
    yield* linesOf(input);
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(chunk);
  yield { body: Buffer.concat(chunks).toString('base64'), bodyEncoding: 'base64' };
}

function standardInput(terminal: Terminal, lines: boolean | undefined): AsyncIterable<Buffer> {
  if (terminal.typed === true) {
    const what = lines === true ? 'messages, one a line' : 'the message';
    terminal.error(`type ${what}; Ctrl-D on a line of its own ends it\n`);
  }
  return terminal.input();
}

function readBody(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandFailure(EXIT.failed, [error instanceof Error ? error.message : String(error)]);
  }
}

/** Lines without their ends; empty ones are left out. */
async function* linesOf(input: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Outgoing> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const body = part.replace(/\r$/, '');
      if (body !== '') yield { body, bodyEncoding: 'text' };
    }
  }
  const last = rest + decoder.decode();
  if (last !== '') yield { body: last, bodyEncoding: 'text' };
}
