import { lookup as resolve } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { Agent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import type { AllowList } from './allow-list.js';

export interface OutgoingHttpOptions {
  readonly clock: Clock;
  readonly allow: AllowList;
  /** Open connections of one host. */
  readonly connectionsPerHostMax: number;
  /** Certificates trusted beside the system's, in PEM. */
  readonly trusted?: string | undefined;
}

/** One POST to somebody else's server. */
export interface OutgoingPost {
  /** `http:` or `https:`; user and password in it become basic authentication. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** From the first byte to the end of the answer. */
  readonly timeoutMs: number;
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** The interim answer 102 (Processing) is as good as a last one. */
  readonly processingAnswers?: boolean;
}

/** What came of a POST. */
export type PostOutcome =
  | { readonly kind: 'answered'; readonly status: number }
  /** No answer. `allowed` false: the host is not on the list, and will not be when tried again. */
  | { readonly kind: 'failed'; readonly reason: string; readonly allowed: boolean }
  | { readonly kind: 'aborted' };

type Outcome =
  | { readonly kind: 'answered'; readonly status: number; readonly location: string | undefined }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly allowed: boolean;
      readonly stale?: boolean;
    }
  | { readonly kind: 'aborted' };

/** An answer's body is of no use: what comes in one piece keeps the connection, more closes it. */
const ANSWER_BYTES_MAX = 64 * 1024;
const ANSWER_HEADER_BYTES_MAX = 16 * 1024;
/** Redirects are followed on the same scheme, host and port only. */
const REDIRECTS_MAX = 3;
const STATUS_PROCESSING = 102;
const IDLE_CONNECTION_MS = 30_000;

const NOT_ALLOWED = 'the host is not on the allow-list';

/** Posts to hosts on an allow-list, with keep-alive. Every resolved address is checked, so a name cannot lead inside. */
export class OutgoingHttp {
  readonly #options: OutgoingHttpOptions;
  readonly #plain: Agent;
  readonly #tls: TlsAgent;

  constructor(options: OutgoingHttpOptions) {
    this.#options = options;
    const pool = {
      keepAlive: true,
      maxSockets: options.connectionsPerHostMax,
      maxFreeSockets: 8,
      timeout: IDLE_CONNECTION_MS,
    };
    this.#plain = new Agent(pool);
    this.#tls = new TlsAgent({ ...pool, ...(options.trusted !== undefined && { ca: options.trusted }) });
  }

  /** Closes idle connections; those in use close when their call ends. */
  close(): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }

  /** Never rejects. */
  async post(post: OutgoingPost): Promise<PostOutcome> {
    let { url } = post;
    for (let redirects = 0; ; redirects++) {
      let outcome = await this.#once({ ...post, url });
      // The peer had closed a connection that was kept; nothing of the request was looked at.
      if (outcome.kind === 'failed' && outcome.stale === true) outcome = await this.#once({ ...post, url });
      if (outcome.kind !== 'answered' || outcome.location === undefined) return outcome;
      const next = URL.canParse(outcome.location, url.href) ? new URL(outcome.location, url.href) : undefined;
      if (next === undefined || next.origin !== url.origin || redirects >= REDIRECTS_MAX) {
        return { kind: 'failed', reason: `redirected (${outcome.status}) to another host`, allowed: true };
      }
      url = next;
    }
  }

  #once(post: OutgoingPost): Promise<Outcome> {
    const { url, signal } = post;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const { allow, clock } = this.#options;
    if (signal.aborted) return Promise.resolve({ kind: 'aborted' });
    if (isIP(host) > 0 && !allow.allowsAddress(host)) {
      return Promise.resolve({ kind: 'failed', reason: NOT_ALLOWED, allowed: false });
    }
    return new Promise((done) => {
      const call = this.#begin(url, post);
      let ended = false;
      const end = (outcome: Outcome): void => {
        if (ended) return;
        ended = true;
        timer.cancel();
        signal.removeEventListener('abort', abort);
        done(outcome);
      };
      const abort = (): void => {
        end({ kind: 'aborted' });
        call.destroy();
      };
      const timer = clock.after(post.timeoutMs, () => {
        end({ kind: 'failed', reason: `no answer within ${post.timeoutMs} ms`, allowed: true });
        call.destroy();
      });
      signal.addEventListener('abort', abort);
      call.on('error', (error: NodeJS.ErrnoException) => {
        const allowed = error.code !== 'EBLOCKED';
        const stale = call.reusedSocket && error.code === 'ECONNRESET';
        end({ kind: 'failed', reason: allowed ? reasonOf(error) : NOT_ALLOWED, allowed, stale });
      });
      call.on('response', (answer) => readAnswer(answer, end));
      if (post.processingAnswers === true) {
        call.on('information', ({ statusCode }) => {
          if (statusCode !== STATUS_PROCESSING) return;
          end({ kind: 'answered', status: statusCode, location: undefined });
          call.destroy();
        });
      }
      call.end(post.body);
    });
  }

  #begin(url: URL, { headers, body }: OutgoingPost): ClientRequest {
    const tls = url.protocol === 'https:';
    const options: RequestOptions = {
      method: 'POST',
      agent: tls ? this.#tls : this.#plain,
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
      lookup: this.#lookup,
    };
    if (url.username !== '' || url.password !== '') {
      options.auth = `${decoded(url.username)}:${decoded(url.password)}`;
    }
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    return tls ? tlsRequest(bare, options) : httpRequest(bare, options);
  }

  /** Resolves a name to those of its addresses that may be called. */
  readonly #lookup = (
    host: string,
    options: LookupOptions,
    done: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    const { allow } = this.#options;
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        done(error, []);
        return;
      }
      const anywhere = allow.allowsName(host);
      const usable = found.filter(({ address }) => anywhere || allow.allowsAddress(address));
      const [first] = usable;
      if (first === undefined) {
        done(Object.assign(new Error(NOT_ALLOWED), { code: 'EBLOCKED' }), []);
      } else if (options.all === true) {
        done(null, usable);
      } else {
        done(null, first.address, first.family);
      }
    });
  };
}

function readAnswer(answer: IncomingMessage, end: (outcome: Outcome) => void): void {
  const status = answer.statusCode ?? 0;
  const location = status === 307 || status === 308 ? answer.headers.location : undefined;
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= ANSWER_BYTES_MAX) return;
    // The status is all that counts.
    end({ kind: 'answered', status, location });
    answer.destroy();
  });
  answer.on('end', () => end({ kind: 'answered', status, location }));
  answer.on('error', (error) => end({ kind: 'failed', reason: reasonOf(error), allowed: true }));
  answer.on('aborted', () => end({ kind: 'failed', reason: 'the answer was cut off', allowed: true }));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
