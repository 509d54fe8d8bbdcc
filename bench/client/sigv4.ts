import { createHmac, hash } from 'node:crypto';

/** The one pair of keys that servers which check signatures are told. */
export const ACCESS_KEY = 'AKIABENCH';
export const SECRET_KEY = 'bench/secret+of+no+account';

const REGION = 'us-east-1';
const ALGORITHM = 'AWS4-HMAC-SHA256';
export const SIGNATURE_CHARS = 64;

export interface SignedHead {
  /** Everything before the body, the length of the body included. */
  readonly head: string;
  /** Where in it the signature stands. */
  readonly signatureAt: number;
}

export interface Target {
  readonly service: 'sqs' | 'sns';
  readonly host: string;
  readonly contentType: string;
  /** Of the JSON protocol. */
  readonly target?: string;
}

/**
 * Signs requests of one kind, which differ in their bodies alone (Signature Version 4, the headers that boto3 signs). One time
 * serves them all: a signature is good for a quarter of an hour.
 */
export class RequestSigner {
  readonly #target: Target;
  readonly #time: string;
  readonly #scope: string;
  readonly #names: string;
  /** The canonical request up to the body's hash. */
  readonly #canonicalStart: string;
  readonly #key: Buffer;

  constructor(target: Target, at = new Date()) {
    this.#target = target;
    this.#time = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const date = this.#time.slice(0, 8);
    this.#scope = `${date}/${REGION}/${target.service}/aws4_request`;
    const fields = this.#fields();
    this.#names = fields.map(([name]) => name).join(';');
    const lines = fields.map(([name, value]) => `${name}:${value}\n`).join('');
    this.#canonicalStart = `POST\n/\n\n${lines}\n${this.#names}\n`;
    const steps = [date, REGION, target.service, 'aws4_request'];
    this.#key = steps.reduce<Buffer>(
      (key, step) => createHmac('sha256', key).update(step).digest(),
      Buffer.from(`AWS4${SECRET_KEY}`),
    );
  }

  sign(body: string | Uint8Array): string {
    const canonical = hash('sha256', this.#canonicalStart + hash('sha256', body));
    const text = `${ALGORITHM}\n${this.#time}\n${this.#scope}\n${canonical}`;
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }

  head(bodyBytes: number, signature: string): SignedHead {
    const fields = this.#fields().map(([name, value]) => `${name}: ${value}\r\n`);
    const start =
      `POST / HTTP/1.1\r\n${fields.join('')}content-length: ${String(bodyBytes)}\r\n` +
      `authorization: ${ALGORITHM} Credential=${ACCESS_KEY}/${this.#scope}, SignedHeaders=${this.#names}, Signature=`;
    return { head: `${start}${signature}\r\n\r\n`, signatureAt: start.length };
  }

  /** What is signed, by name. */
  #fields(): readonly (readonly [string, string])[] {
    const { contentType, host, target } = this.#target;
    return [
      ['content-type', contentType],
      ['host', host],
      ['x-amz-date', this.#time],
      ...(target === undefined ? [] : [['x-amz-target', target] as const]),
    ];
  }
}
