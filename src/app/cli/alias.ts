import type { Command } from 'commander';
import { z } from 'zod';
import { CommandFailure, EXIT, type Terminal } from './output.js';

const listAnswer = z.object({ aliases: z.array(z.object({ alias: z.string(), channel: z.string() })) });
const errorAnswer = z.object({ message: z.string() });

const REQUEST_TIMEOUT_MS = 10_000;

/** `polymq alias add|remove|list`, spoken to a running broker's API port. */
export function aliasCommand(program: Command, terminal: Terminal): void {
  const api = terminal.environment['POLYMQ_API'] ?? 'http://127.0.0.1:8080';
  const group = program
    .command('alias')
    .description('make two names one channel')
    .option('--api <url>', 'API address of the running broker (environment: POLYMQ_API)', api);
  const call = (method: string, path: string, body?: unknown): Promise<unknown> =>
    callApi(`${group.opts<{ api: string }>().api}/api/v1/aliases${path}`, method, body);

  group
    .command('add <alias> <channel>')
    .description('make <alias> another name of <channel>')
    .action(async (alias: string, channel: string) => {
      await call('POST', '', { alias, channel });
      terminal.out(`${alias} -> ${channel}\n`);
    });
  group
    .command('remove <alias>')
    .description('take the name away; the channel stays')
    .action(async (alias: string) => {
      await call('DELETE', `/${encodeURIComponent(alias)}`);
      terminal.out(`${alias} removed\n`);
    });
  group
    .command('list')
    .description('list all aliases')
    .action(async () => {
      const { aliases } = listAnswer.parse(await call('GET', ''));
      for (const { alias, channel } of aliases) terminal.out(`${alias} -> ${channel}\n`);
    });
}

async function callApi(url: string, method: string, body?: unknown): Promise<unknown> {
  const request = {
    method,
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  };
  const response = await fetch(url, request).catch((error: unknown) => {
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CommandFailure(EXIT.failed, [`no answer from ${url}: ${cause}`]);
  });
  const text = await response.text();
  if (!response.ok) {
    const known = errorAnswer.safeParse(parsed(text));
    throw new CommandFailure(EXIT.failed, [
      known.success ? known.data.message : `HTTP ${response.status} from ${url}`,
    ]);
  }
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
