import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** An authority made for one test, and what it signs. */
export class TestAuthority {
  readonly certificate: string;
  readonly #key: string;

  private constructor(own: Certificate) {
    this.certificate = own.certificate;
    this.#key = own.key;
  }

  static async create(name = 'test authority'): Promise<TestAuthority> {
    const made = await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      algorithm: 'sha256',
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    });
    return new TestAuthority({ certificate: made.cert, key: made.private });
  }

  /** For a server on this machine. */
  server(): Promise<Certificate> {
    return this.#sign('localhost', true);
  }

  /** For a client of this name. */
  client(name: string): Promise<Certificate> {
    return this.#sign(name, false);
  }

  async #sign(name: string, isServer: boolean): Promise<Certificate> {
    const made = await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: { key: this.#key, cert: this.certificate },
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'keyUsage', digitalSignature: true, critical: true },
        isServer ? { name: 'extKeyUsage', serverAuth: true } : { name: 'extKeyUsage', clientAuth: true },
        {
          name: 'subjectAltName',
          altNames: [
            { type: 2, value: name },
            { type: 7, ip: '127.0.0.1' },
          ],
        },
      ],
    });
    return { certificate: made.cert, key: made.private };
  }
}

/** Writes PEM files into a folder; gives their paths. */
export function writePems<T extends Record<string, string>>(
  folder: string,
  texts: T,
): { readonly [K in keyof T]: string } {
  const paths = Object.entries(texts).map(([name, text]) => {
    const path = join(folder, `${name}.pem`);
    writeFileSync(path, text);
    return [name, path];
  });
  return Object.fromEntries(paths) as { readonly [K in keyof T]: string };
}
