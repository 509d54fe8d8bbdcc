import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { TlsCredentials, TlsSource } from '../../connectors/kit/tls-gate.js';
import type { SecurityConfig } from '../config/security.js';
import { isGiven, pemOf } from './secret-text.js';

/** Whether listeners speak TLS. */
export function hasTls(config: SecurityConfig): boolean {
  return isGiven({ data: config.certData, file: config.certFilename });
}

/** The TLS settings with the files they name, read anew at `refresh`. */
export class TlsSettings implements TlsSource {
  readonly clientCertificate: 'required' | 'optional';
  readonly allowPlain: boolean;
  readonly certificateIdentity: boolean;
  readonly #config: SecurityConfig;
  readonly #listeners = new Set<() => void>();
  #credentials: TlsCredentials;

  /** Throws an error that names the setting when something cannot be read or does not fit together. */
  constructor(config: SecurityConfig) {
    this.#config = config;
    this.clientCertificate = config.clientCert;
    this.allowPlain = config.allowPlain;
    this.certificateIdentity = config.certIdentity;
    this.#credentials = readCredentials(config);
  }

  get credentials(): TlsCredentials {
    return this.#credentials;
  }

  /** End of the certificate's life, as it is written there. */
  get validTo(): string {
    return new X509Certificate(this.#credentials.certificate).validTo;
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }

  /** Reads the files again; true when something else stands there now. Throws, and keeps what it has, when they are no good. */
  refresh(): boolean {
    const fresh = readCredentials(this.#config);
    const { certificate, key, authority } = this.#credentials;
    if (fresh.certificate === certificate && fresh.key === key && fresh.authority === authority) return false;
    this.#credentials = fresh;
    for (const changed of this.#listeners) changed();
    return true;
  }
}

function readCredentials(config: SecurityConfig): TlsCredentials {
  const authority = { name: 'SECURITY_CA_FILENAME', data: config.caData, file: config.caFilename };
  const credentials: TlsCredentials = {
    certificate: pemOf({ name: 'SECURITY_CERT_FILENAME', data: config.certData, file: config.certFilename }),
    key: pemOf({ name: 'SECURITY_KEY_FILENAME', data: config.keyData, file: config.keyFilename }),
    authority: isGiven(authority) ? pemOf(authority) : undefined,
  };
  try {
    createSecureContext({ cert: credentials.certificate, key: credentials.key, ca: credentials.authority });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`SECURITY_CERT_…, SECURITY_KEY_…, SECURITY_CA_…: not usable together (${why})`, {
      cause: error,
    });
  }
  return credentials;
}
