import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { connectionHint, plainReason, type ConnectionFault } from './connection-hints.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';

const errorAnswer = z.object({ message: z.string() });

/** Longest time without a byte of an answer, besides what the call itself waits for. */
const SILENCE_MS = 30_000;

interface ApiOptions {
  readonly api: string;
  readonly token?: string;
  readonly clientId?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Gives a command what it needs to speak to a running broker. */
export function addApi(command: Command, { environment }: Terminal): Command {
  const option = (flags: string, text: string, variable: string, fallback?: string): Option => {
    const value = environment[variable];
    const made = new Option(flags, `${text} [${variable}]`).helpGroup('Connection:');
    const preset = value === undefined || value === '' ? fallback : value;
    return preset === undefined ? made : made.default(preset, variable === 'POLYMQ_TOKEN' ? 'set' : preset);
  };
  return command
    .addOption(option('--api <url>', 'API address of the broker', 'POLYMQ_API', 'http://127.0.0.1:8080'))
    .addOption(option('--token <jwt>', 'token, where the broker asks for one', 'POLYMQ_TOKEN'))
    .addOption(option('--client-id <name>', 'who to be, where no token is asked for', 'POLYMQ_CLIENT_ID'))
    .addOption(option('--ca <file>', 'PEM of the authority of an https broker', 'POLYMQ_CA'))
    .addOption(option('--cert <file>', 'PEM of a client certificate', 'POLYMQ_CERT'))
    .addOption(option('--key <file>', 'PEM of its key', 'POLYMQ_KEY'));
}

/** The admin API of a running broker. */
export class ApiClient {
  readonly #options: ApiOptions;
  readonly #tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };

  constructor(command: Command) {
    this.#options = command.opts();
    const { ca, cert, key } = this.#options;
    if ((cert === undefined) !== (key === undefined))
      throw new CommandFailure(EXIT.usage, ['--cert and --key go together']);
    this.#tls = {
      ...(ca === undefined ? {} : { ca: fileOf(ca) }),
      ...(cert === undefined ? {} : { cert: fileOf(cert) }),
      ...(key === undefined ? {} : { key: fileOf(key) }),
    };
  }

  /** `waitMs`: the broker may wait that long; `signal` breaks it off, with a failure. */
  get<T>(
    schema: z.ZodType<T>,
    path: string,
    { waitMs = 0, signal }: { readonly waitMs?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    return this.#call(schema, { method: 'GET', path, waitMs, signal });
  }

  post<T>(schema: z.ZodType<T>, path: string, body: unknown, waitMs = 0): Promise<T> {
    return this.#call(schema, { method: 'POST', path, body, waitMs });
  }

  /** The lines of an answer that goes on until one side ends it. Empty ones show that the broker is there. */
  async *lines(path: string, signal: AbortSignal | undefined): AsyncIterable<string> {
    let rest = '';
    try {
      const answer = await this.#send({ method: 'GET', path, waitMs: 0, signal });
      if ((answer.statusCode ?? 0) >= 300) throw this.#refusal(answer, await textOf(answer));
      for await (const text of answer.setEncoding('utf8')) {
        const lines = (rest + String(text)).split('\n');
        rest = lines.pop() ?? '';
        yield* lines.filter((line) => line !== '');
      }
    } catch (error) {
      if (signal?.aborted === true) return;
      throw error instanceof CommandFailure ? error : this.#brokenOff(error);
    }
  }

  async delete(path: string): Promise<void> {
    await this.#call(z.unknown(), { method: 'DELETE', path, waitMs: 0 });
  }

  async #call<T>(schema: z.ZodType<T>, call: Call): Promise<T> {
    const answer = await this.#send(call);
    const text = await textOf(answer).catch((error: unknown) => {
      throw this.#brokenOff(error);
    });
    if ((answer.statusCode ?? 0) >= 300) throw this.#refusal(answer, text);
    const read = schema.safeParse(parsed(text));
    if (read.success) return read.data;
    throw this.strange();
  }

  /** What answers is something else. */
  strange(): CommandFailure {
    return new CommandFailure(EXIT.failed, [
      `${this.#options.api} is no Polymq API, or one of another version`,
    ]);
  }

  #send({ method, path, body, waitMs, signal }: Call): Promise<IncomingMessage> {
    const { api, token, clientId } = this.#options;
    const url = urlOf(api, path);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(clientId === undefined ? {} : { 'x-client-id': clientId }),
    };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const timeout = SILENCE_MS + waitMs;
      send(url, { method, headers, timeout, ...this.#tls, ...(signal && { signal }) }, resolve)
        .on('error', (error) => reject(this.#silence(error)))
        .on('timeout', function onTimeout(this: { destroy(error: Error): void }) {
          this.destroy(new Error('it took too long'));
        })
        .end(text);
    });
  }

  #refusal({ statusCode = 0 }: IncomingMessage, text: string): CommandFailure {
    const known = errorAnswer.safeParse(parsed(text));
    const { api, token } = this.#options;
    const why = known.success ? known.data.message : `HTTP ${statusCode} from ${api}`;
    const needsToken = statusCode === 401 && token === undefined;
    return new CommandFailure(EXIT.failed, [needsToken ? `${why}: --token (POLYMQ_TOKEN)` : why]);
  }

  /** An answer had begun: nothing was wrong with the way to it. */
  #brokenOff(error: unknown): CommandFailure {
    const { api } = this.#options;
    return new CommandFailure(EXIT.failed, [
      `no answer from ${api}: ${plainReason(error as ConnectionFault)}`,
    ]);
  }

  #silence(error: unknown): CommandFailure {
    const fault = error as ConnectionFault;
    const { api } = this.#options;
    const hint = connectionHint(api, fault);
    return new CommandFailure(EXIT.failed, [
      `no answer from ${api}: ${plainReason(fault)}`,
      ...(hint === undefined ? [] : [hint]),
    ]);
  }
}

function urlOf(api: string, path: string): URL {
  const text = `${api.replace(/\/+$/, '')}/api/v1/${path}`;
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text);
  throw new CommandFailure(EXIT.usage, [`--api: ${api} is no http or https URL`]);
}

/** A channel's name as a part of a path. */
export function inPath(name: string): string {
  return encodeURIComponent(name);
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CommandFailure(EXIT.usage, [
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Undefined: it is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
