import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import type { Clock, Timer } from '../../base/clock.js';
import type { Identity } from '../../connectors/kit/identity.js';
import { BrokerError } from '../../core/errors.js';
import type { AuthenticationConfig } from '../config/security.js';
import { textOf } from './secret-text.js';

/** Tokens that need not be verified again; the oldest goes first. */
const KNOWN_TOKENS_MAX = 10_000;
/** Longer ones are refused unseen. */
const TOKEN_CHARS_MAX = 16_384;
/** How far the issuer's clock may be from ours. */
const CLOCK_TOLERANCE_SECONDS = 5;

interface Known {
  readonly clientId: string;
  /** Unix ms. */
  readonly goodUntil: number;
}

/** Something that lasts as long as its token. */
interface Watch {
  readonly token: string;
  readonly over: () => void;
  timer?: Timer;
}

/** Verifies JSON Web Tokens (RFC 7519) with one key and one algorithm. */
export class TokenVerifier implements Identity {
  readonly required = true;
  readonly #config: AuthenticationConfig['jwtConfig'];
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #watches = new Set<Watch>();
  /** Tokens that were no good, since the start. */
  refused = 0;
  #keyText: string;
  #key: KeyObject;

  /** Throws an error that names the setting when there is no usable key. */
  constructor(config: AuthenticationConfig['jwtConfig'], clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#keyText = readKeyText(config);
    this.#key = keyOf(this.#keyText, config.signatureType);
  }

  known(token: string): string | undefined {
    const known = this.#known.get(token);
    if (known === undefined) return undefined;
    if (known.goodUntil > this.#clock.now()) return known.clientId;
    this.#known.delete(token);
    return undefined;
  }

  async verify(token: string): Promise<string> {
    const key = this.#key;
    const known = token.length > TOKEN_CHARS_MAX ? undefined : await this.#read(token, key);
    if (known === undefined) {
      this.refused++;
      throw new BrokerError('unauthenticated', 'the token is not valid');
    }
    // Verified with a key that was replaced meanwhile: good for this call, not for later ones.
    if (key === this.#key) this.#remember(token, known);
    return known.clientId;
  }

  watch(token: string, over: () => void): () => void {
    const watch: Watch = { token, over };
    this.#watches.add(watch);
    this.#endInTime(watch);
    // It may have been verified with a key that was replaced meanwhile.
    if (this.known(token) === undefined) void this.#verifyAgain(watch);
    return () => this.#forget(watch);
  }

  /** The token was verified: what it says of its end can be believed. */
  #endInTime(watch: Watch): void {
    const goodUntil = this.#known.get(watch.token)?.goodUntil ?? goodUntilOf(decodeJwt(watch.token).exp);
    if (goodUntil === Infinity) return;
    const leftMs = goodUntil - this.#clock.now();
    if (leftMs <= 0) this.#end(watch);
    // Timers may come early when they are set for long.
    else watch.timer = this.#clock.after(leftMs, () => this.#endInTime(watch));
  }

  async #verifyAgain(watch: Watch): Promise<void> {
    if ((await this.#read(watch.token, this.#key)) === undefined) this.#end(watch);
  }

  #end(watch: Watch): void {
    if (!this.#watches.has(watch)) return;
    this.#forget(watch);
    watch.over();
  }

  #forget(watch: Watch): void {
    this.#watches.delete(watch);
    watch.timer?.cancel();
  }

  /** Reads the key file again; true when another key stands there now, and then no token is known any more. */
  refresh(): boolean {
    const text = readKeyText(this.#config);
    if (text === this.#keyText) return false;
    this.#key = keyOf(text, this.#config.signatureType);
    this.#keyText = text;
    this.#known.clear();
    for (const watch of this.#watches) void this.#verifyAgain(watch);
    return true;
  }

  async #read(token: string, key: KeyObject): Promise<Known | undefined> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [this.#config.signatureType],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#clock.now()),
      });
      const clientId = payload[this.#config.claim];
      if (typeof clientId !== 'string' || clientId === '') return undefined;
      return { clientId, goodUntil: goodUntilOf(payload.exp) };
    } catch {
      // Whatever is wrong with a token, its sender hears the same.
      return undefined;
    }
  }

  #remember(token: string, known: Known): void {
    if (this.#known.size >= KNOWN_TOKENS_MAX) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(token, known);
  }
}

/** Unix ms, with the tolerance that the check itself has. */
function goodUntilOf(exp: number | undefined): number {
  return exp === undefined ? Infinity : (exp + CLOCK_TOLERANCE_SECONDS) * 1000;
}

function readKeyText({ key, filePath }: AuthenticationConfig['jwtConfig']): string {
  return textOf({ name: 'AUTHENTICATION_JWT_CONFIG_FILE_PATH', data: key, file: filePath });
}

function keyOf(text: string, algorithm: string): KeyObject {
  try {
    if (!algorithm.startsWith('HS')) return createPublicKey(text);
    const secret = text.trim();
    if (secret === '') throw new Error('it is empty');
    return createSecretKey(Buffer.from(secret, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`AUTHENTICATION_JWT_CONFIG_KEY: no ${algorithm} verification key (${why})`, {
      cause: error,
    });
  }
}
