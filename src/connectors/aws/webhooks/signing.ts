import { createPrivateKey, createPublicKey, generateKeyPair, hash, sign, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Broker } from '../../../core/broker-api.js';
import { BrokerError } from '../../../core/errors.js';
import { selfSignedCertificate, toPem } from '../wire/certificate.js';

const SIGNING_KIND = 'aws.signing-key';
const SIGNING_KEY = 'sns';
const KEY_BITS = 2048;
const COMMON_NAME = 'Polymq SNS message signing';
const VALID_MS = 30 * 365 * 24 * 60 * 60 * 1000;
/** A clock somewhere may be behind ours. */
const VALID_BEFORE_MS = 24 * 60 * 60 * 1000;
/** Signatures remembered: those of messages that are just going to many subscriptions. */
const SIGNATURES_MAX = 256;

/** The registry's value: the key pair that signs notifications, the same for the life of the store. */
interface SigningRecord {
  /** PKCS #8, PEM. */
  readonly privateKey: string;
  /** PEM. */
  readonly certificate: string;
}

interface Key {
  readonly privateKey: KeyObject;
  readonly certificate: string;
  /** `/SimpleNotificationService-{fingerprint}.pem`. */
  readonly path: string;
}

/** Signs notifications as AWS does, with a key of our own. It is made when first needed and kept in the registry. */
export class Signing {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #signatures = new Map<string, string>();
  #key: Key | undefined;
  #making: Promise<void> | undefined;

  constructor(broker: Broker, clock: Clock, ids: IdSource) {
    this.#broker = broker;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Resolves when there is a key. Rejects when it could not be stored. */
  async ready(): Promise<void> {
    if (this.#read()) return;
    this.#making ??= this.#make().finally(() => (this.#making = undefined));
    await this.#making;
  }

  /** Path of the certificate under this endpoint. Throws `internal` before there is a key. */
  get certificatePath(): string {
    return this.#held().path;
  }

  /** The certificate at a path, in PEM; undefined when it is not that one's. */
  certificateAt(path: string): string | undefined {
    return this.#read() && this.#held().path === path ? this.#held().certificate : undefined;
  }

  /** Base64. Version `1` is SHA1withRSA, `2` SHA256withRSA. Throws `internal` before there is a key. */
  sign(text: string, version: '1' | '2'): string {
    const name = version + hash('sha256', text, 'base64');
    const known = this.#signatures.get(name);
    if (known !== undefined) return known;
    const algorithm = version === '2' ? 'sha256' : 'sha1';
    const signature = sign(algorithm, Buffer.from(text, 'utf8'), this.#held().privateKey).toString('base64');
    if (this.#signatures.size >= SIGNATURES_MAX) {
      for (const oldest of this.#signatures.keys()) {
        this.#signatures.delete(oldest);
        break;
      }
    }
    this.#signatures.set(name, signature);
    return signature;
  }

  #held(): Key {
    if (this.#key === undefined && !this.#read()) throw new BrokerError('internal', 'no signing key yet');
    return this.#key as unknown as Key;
  }

  /** Takes the key from the registry; false when there is none. */
  #read(): boolean {
    if (this.#key !== undefined) return true;
    const entry = this.#broker.registry.get<SigningRecord>(SIGNING_KIND, SIGNING_KEY);
    if (entry === undefined) return false;
    const { privateKey, certificate } = entry.value;
    const fingerprint = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
    this.#key = {
      privateKey: createPrivateKey(privateKey),
      certificate,
      path: `/SimpleNotificationService-${fingerprint.slice(0, 32)}.pem`,
    };
    return true;
  }

  async #make(): Promise<void> {
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: KEY_BITS });
    const now = this.#clock.now();
    const serial = Buffer.from(this.#ids.bytes(16));
    serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
    const certificate = selfSignedCertificate(
      {
        publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
        commonName: COMMON_NAME,
        serial,
        notBefore: now - VALID_BEFORE_MS,
        notAfter: now + VALID_MS,
      },
      (bytes) => sign('sha256', bytes, privateKey),
    );
    const value: SigningRecord = {
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      certificate: toPem(certificate),
    };
    try {
      await this.#broker.change([{ do: 'put', kind: SIGNING_KIND, key: SIGNING_KEY, value, expected: 0 }]);
    } catch (error) {
      // Somebody else's key came first: that is the one.
      if (BrokerError.from(error).kind !== 'already-exists') throw error;
    }
    this.#read();
  }
}
