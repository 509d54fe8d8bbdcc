import { createHash } from 'node:crypto';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
  type JWK,
} from 'jose';
import type { Clock } from '../../../base/clock.js';
import type { Broker } from '../../../core/broker-api.js';
import { BrokerError } from '../../../core/errors.js';

/** Registry entry of the key pair: a private JWK. */
const KEY_KIND = 'gcp.signing-key';
const KEY_NAME = 'push';
const ALGORITHM = 'RS256';
const MODULUS_BITS = 2048;
/** Whom Google's tokens come from. */
export const TOKEN_ISSUER = 'https://accounts.google.com';
const TOKEN_SECONDS = 3600;
/** Tokens are used until this long before their end. */
const RENEW_SECONDS = 300;
/** Tokens kept; the one made longest ago makes room. */
const TOKENS_MAX = 1000;

interface SigningKey {
  readonly key: CryptoKey | Uint8Array;
  readonly kid: string;
  readonly publicJwk: JWK;
}

interface CachedToken {
  readonly token: Promise<string>;
  /** Unix s. */
  readonly usableUntil: number;
}

/** Signs the OpenID Connect tokens of push requests. The key pair is made when first needed and kept in the registry. */
export class TokenSigner {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, CachedToken>();
  #key: Promise<SigningKey> | undefined;

  constructor(broker: Broker, clock: Clock) {
    this.#broker = broker;
    this.#clock = clock;
  }

  /** A token that says `email` is calling `audience`. */
  token(email: string, audience: string): Promise<string> {
    const now = Math.floor(this.#clock.now() / 1000);
    const name = `${email}\n${audience}`;
    const known = this.#tokens.get(name);
    if (known !== undefined && now < known.usableUntil) return known.token;
    const token = this.#sign(email, audience, now);
    this.#tokens.delete(name);
    this.#tokens.set(name, { token, usableUntil: now + TOKEN_SECONDS - RENEW_SECONDS });
    for (const oldest of this.#tokens.keys()) {
      if (this.#tokens.size <= TOKENS_MAX) break;
      this.#tokens.delete(oldest);
    }
    token.catch(() => this.#tokens.delete(name));
    return token;
  }

  /** The JSON Web Key Set that the tokens are verified with. */
  async keySet(): Promise<{ readonly keys: readonly JWK[] }> {
    const { publicJwk } = await this.#signingKey();
    return { keys: [publicJwk] };
  }

  async #sign(email: string, audience: string, now: number): Promise<string> {
    const { key, kid } = await this.#signingKey();
    const sub = subjectOf(email);
    return new SignJWT({ azp: sub, email, email_verified: true })
      .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
      .setIssuer(TOKEN_ISSUER)
      .setAudience(audience)
      .setSubject(sub)
      .setIssuedAt(now)
      .setExpirationTime(now + TOKEN_SECONDS)
      .sign(key);
  }

  #signingKey(): Promise<SigningKey> {
    if (this.#key === undefined) {
      const key = this.#load();
      this.#key = key;
      // The next one who needs it tries again.
      key.catch(() => (this.#key = undefined));
    }
    return this.#key;
  }

  async #load(): Promise<SigningKey> {
    const jwk = this.#stored() ?? (await this.#make());
    const { kty, n, e } = jwk;
    const kid = await calculateJwkThumbprint(jwk);
    return {
      key: await importJWK(jwk, ALGORITHM),
      kid,
      publicJwk: {
        ...(kty === undefined ? {} : { kty }),
        ...(n === undefined ? {} : { n }),
        ...(e === undefined ? {} : { e }),
        kid,
        alg: ALGORITHM,
        use: 'sig',
      },
    };
  }

  #stored(): JWK | undefined {
    return this.#broker.registry.get<JWK>(KEY_KIND, KEY_NAME)?.value;
  }

  async #make(): Promise<JWK> {
    const { privateKey } = await generateKeyPair(ALGORITHM, {
      modulusLength: MODULUS_BITS,
      extractable: true,
    });
    const made = await exportJWK(privateKey);
    try {
      await this.#broker.change([{ do: 'put', kind: KEY_KIND, key: KEY_NAME, value: made, expected: 0 }]);
      return made;
    } catch (caught) {
      // Another node was faster.
      const stored = this.#stored();
      if (BrokerError.from(caught).kind === 'already-exists' && stored !== undefined) return stored;
      throw caught;
    }
  }
}

/** Google's subjects are numbers of 21 digits; ours are always the same for an address. */
function subjectOf(email: string): string {
  const digest = createHash('sha256').update(email).digest().subarray(0, 8).readBigUInt64BE();
  return `1${digest.toString().padStart(20, '0')}`;
}
