import type { Clock } from '../../base/clock.js';
import { COMMON_FAULTS } from './errors.js';
import type { Service } from './errors.js';
import { AwsFault } from './wire/fault.js';
import { isSignedWith, readSignature, timeOf } from './wire/sigv4.js';
import type { Signature, SignedRequest } from './wire/sigv4.js';
import { signingKey } from './wire/signing-key.js';
import type { SigningKey } from './wire/signing-key.js';

/** How far a request's clock may be from ours. */
const CLOCK_SKEW_MS = 15 * 60 * 1000;
/** Signing keys kept: one for each credential, day, region and service in use. */
const SIGNING_KEYS_MAX = 1_000;
/** Credential scopes are free text: longer ones are not worth keeping. */
const SCOPE_CHARS_MAX = 200;

export interface Credential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Checks signatures against a fixed set of credentials. Regions are not enforced. */
export class Authentication {
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #clock: Clock;
  readonly #keys = new Map<string, SigningKey>();

  constructor(credentials: readonly Credential[], clock: Clock) {
    this.#secrets = new Map(
      credentials.map(({ accessKeyId, secretAccessKey }) => [accessKeyId, secretAccessKey]),
    );
    this.#clock = clock;
  }

  /** False: there are no credentials to check against, everybody may come in. */
  get required(): boolean {
    return this.#secrets.size > 0;
  }

  /** Signing keys in memory. */
  get keptKeys(): number {
    return this.#keys.size;
  }

  /** Passes a request that one of the credentials has signed for the service. Throws AWS's refusals. */
  check(request: SignedRequest, service: Service): void {
    const reading = readSignature(request);
    if (reading.kind === 'unsigned') {
      throw new AwsFault(COMMON_FAULTS.missingAuthenticationToken, 'Request is missing Authentication Token');
    }
    if (reading.kind === 'incomplete') {
      throw new AwsFault(COMMON_FAULTS.incompleteSignature, reading.problem);
    }
    const { signature } = reading;
    const secret = this.#secrets.get(signature.accessKey);
    if (secret === undefined) {
      throw new AwsFault(
        COMMON_FAULTS.unrecognizedClient,
        'The security token included in the request is invalid.',
      );
    }
    if (signature.service !== service) {
      throw mismatch(`Credential should be scoped to correct service: '${service}'.`);
    }
    if (!isSignedWith(this.#keyOf(signature, secret), request, signature)) {
      throw mismatch(
        'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access ' +
          'Key and signing method. Consult the service documentation for details.',
      );
    }
    this.#checkTime(signature);
  }

  #checkTime({ time, expiresSeconds }: Signature): void {
    const now = this.#clock.now();
    const signedAt = timeOf(time) ?? 0;
    if (signedAt - now > CLOCK_SKEW_MS) {
      throw mismatch(
        `Signature not yet current: ${time} is still later than ${stamp(now)} (15 min. are allowed).`,
      );
    }
    const lifeMs = expiresSeconds === undefined ? CLOCK_SKEW_MS : expiresSeconds * 1000;
    if (now - signedAt > lifeMs) {
      throw mismatch(
        expiresSeconds === undefined
          ? `Signature expired: ${time} is now earlier than ${stamp(now - CLOCK_SKEW_MS)} (${stamp(now)} - 15 min.)`
          : `Signature expired: ${time} and ${expiresSeconds} seconds are before ${stamp(now)}.`,
      );
    }
  }

  #keyOf(signature: Signature, secret: string): SigningKey {
    const name = `${signature.accessKey}/${signature.scope}`;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = signingKey(secret, signature);
    if (name.length <= SCOPE_CHARS_MAX) {
      if (this.#keys.size >= SIGNING_KEYS_MAX) {
        for (const oldest of this.#keys.keys()) {
          this.#keys.delete(oldest);
          break;
        }
      }
      this.#keys.set(name, key);
    }
    return key;
  }
}

/** The JSON protocol calls it InvalidSignatureException. */
function mismatch(message: string): AwsFault {
  return new AwsFault(COMMON_FAULTS.signatureDoesNotMatch, message);
}

/** Unix ms as YYYYMMDD'T'HHMMSS'Z'. */
function stamp(at: number): string {
  return new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, '');
}
