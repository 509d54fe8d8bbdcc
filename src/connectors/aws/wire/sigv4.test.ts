import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSignedWith, readSignature, timeOf } from './sigv4.js';
import type { SignedRequest } from './sigv4.js';
import { signingKey } from './signing-key.js';

/** Amazon's own signer is the oracle. */
class Sha256 {
  #state: { update(data: string | Uint8Array): unknown; digest(): Buffer };
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#state =
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', typeof secret === 'string' ? secret : bytesOf(secret));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#state.update(typeof data === 'string' ? data : bytesOf(data));
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#state.digest()));
  }
  reset(): void {
    this.#state = createHash('sha256');
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const signer = (region: string): SignatureV4 =>
  new SignatureV4({
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET },
    region,
    service: 'sqs',
    sha256: Sha256,
  });

interface Plan {
  readonly method: string;
  readonly segments: readonly string[];
  readonly slash: boolean;
  readonly query: Readonly<Record<string, string | string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly region: string;
  readonly at: Date;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  segments: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), { maxLength: 3 }),
  slash: fc.boolean(),
  query: fc.dictionary(
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
      .filter((name) => !/^(X-Amz-|__proto__)/i.test(name)),
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.array(fc.string({ maxLength: 5 }), { minLength: 1, maxLength: 3 }),
    ),
    { maxKeys: 5, noNullPrototype: true },
  ),
  headers: fc.dictionary(
    fc.stringMatching(/^x-custom-[a-z]{1,8}$/),
    fc.stringMatching(/^[ a-zA-Z0-9,;=]{0,30}$/),
    { maxKeys: 4, noNullPrototype: true },
  ),
  body: fc.string({ unit: 'grapheme', maxLength: 100 }),
  region: fc.constantFrom('us-east-1', 'kubemq', 'eu-central-1'),
  at: fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
});

function escape(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** What the wire carries of a request the oracle has signed. */
function received(
  request: { method: string; path: string; query?: unknown; headers: Record<string, string> },
  body: string,
): SignedRequest {
  const pairs = Object.entries((request.query ?? {}) as Record<string, string | string[]>).flatMap(
    ([name, value]) => [value].flat().map((one) => `${escape(name)}=${escape(one)}`),
  );
  const headers = new Map(
    Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value.trim()]),
  );
  return {
    method: request.method,
    url: request.path + (pairs.length === 0 ? '' : `?${pairs.join('&')}`),
    body: Buffer.from(body, 'utf8'),
    joined: (name) => headers.get(name),
  };
}

function unsigned({ method, segments, slash, query, headers, body }: Plan) {
  return {
    method,
    protocol: 'http:',
    hostname: 'localhost',
    port: 4566,
    path: `/${segments.map(escape).join('/')}${slash && segments.length > 0 ? '/' : ''}`,
    query: { ...query },
    headers: { host: 'localhost:4566', 'content-type': 'application/x-amz-json-1.0', ...headers },
    body,
  };
}

function passes(request: SignedRequest, secret = SECRET): boolean {
  const reading = readSignature(request);
  if (reading.kind !== 'signed') throw new Error(`it is ${JSON.stringify(reading)}`);
  return isSignedWith(signingKey(secret, reading.signature), request, reading.signature);
}

describe('signature version 4', () => {
  it("agrees with Amazon's signer in the header form, and notices every change", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (made) => {
        const signed = await signer(made.region).sign(unsigned(made), { signingDate: made.at });
        const request = received(signed, made.body);
        expect(passes(request)).toBe(true);
        expect(passes(request, `${SECRET}x`)).toBe(false);
        expect(passes({ ...request, method: 'PUT' })).toBe(false);
        expect(passes({ ...request, body: Buffer.from(`${made.body}x`) })).toBe(false);
        expect(passes({ ...request, url: `/x${request.url}` })).toBe(false);
        const other = (name: string): string | undefined =>
          name === 'host' ? 'elsewhere' : request.joined(name);
        expect(passes({ ...request, joined: other })).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it("agrees with Amazon's signer in the presigned form", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (made) => {
        const signed = await signer(made.region).presign(
          { ...unsigned(made), method: 'GET' },
          { signingDate: made.at, expiresIn: 60 },
        );
        const request = received(signed, made.body);
        expect(passes(request)).toBe(true);
        expect(passes({ ...request, url: `${request.url}&more=1` })).toBe(false);
        expect(passes({ ...request, url: request.url.replace('X-Amz-Expires=60', 'X-Amz-Expires=61') })).toBe(
          false,
        );
      }),
      { numRuns: 200 },
    );
  });

  it('takes a query that only begins to be presigned as incomplete, another as unsigned', () => {
    const headers = new Map([['host', 'h']]);
    const base = 'X-Amz-Algorithm=AWS4-HMAC-SHA256';
    const request: SignedRequest = {
      method: 'GET',
      url: `/?a=c&${base}`,
      body: Buffer.alloc(0),
      joined: (name) => headers.get(name),
    };
    expect(readSignature(request).kind).toBe('incomplete');
    expect(readSignature({ ...request, url: '/?a=1' })).toEqual({ kind: 'unsigned' });
  });

  it('never throws over what a peer may send', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.string({ maxLength: 200 }), (authorization, query) => {
        for (const text of [authorization, `AWS4-HMAC-SHA256 ${authorization}`, undefined]) {
          const request: SignedRequest = {
            method: 'GET',
            url: `/?${text === undefined ? 'X-Amz-Algorithm=AWS4-HMAC-SHA256&' : ''}${query}`,
            body: Buffer.alloc(0),
            joined: (name) => (name === 'authorization' ? text : undefined),
          };
          expect(['unsigned', 'incomplete', 'signed']).toContain(readSignature(request).kind);
        }
      }),
    );
  });

  it.each([
    ['AWS4-HMAC-SHA256 Signature=a, SignedHeaders=host', /Credential/],
    ['AWS4-HMAC-SHA256 Credential=a/20260101/r/sqs/aws4_request, Signature=a', /SignedHeaders/],
    ['AWS4-HMAC-SHA256 Credential=a/20260101/r/sqs/aws4_request, SignedHeaders=host', /Signature/],
    ['AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=a', /Credential must be/],
    ['AWS4-HMAC-SHA256 Credential=a/20260102/r/sqs/aws4_request, SignedHeaders=host, Signature=a', /scope/],
    ['AWS4-HMAC-SHA256 Credential=a/20260101/r/sqs/aws4_request, SignedHeaders=a;b, Signature=a', /Host/],
    ['Basic dXNlcg==', /must begin with/],
  ])('%s is incomplete', (authorization, problem) => {
    const headers = new Map([
      ['authorization', authorization],
      ['x-amz-date', '20260101T000000Z'],
    ]);
    const request = {
      method: 'POST',
      url: '/',
      body: Buffer.alloc(0),
      joined: (name: string) => headers.get(name),
    };
    const reading = readSignature(request);
    expect(reading.kind).toBe('incomplete');
    expect(reading).toHaveProperty('problem', expect.stringMatching(problem));
  });

  it('reads a header the same again, and notices another time', () => {
    const scope = '20260102/r/sqs/aws4_request';
    const read = (time: string, signature: string): unknown => {
      const headers = new Map([
        [
          'authorization',
          `AWS4-HMAC-SHA256 Credential=a/${scope}, SignedHeaders=host, Signature=${signature}`,
        ],
        ['x-amz-date', time],
      ]);
      const joined = (name: string): string | undefined => headers.get(name);
      return readSignature({ method: 'POST', url: '/', body: Buffer.alloc(0), joined });
    };
    const first = 'a'.repeat(64);
    const second = 'b'.repeat(64);
    expect(read('20260102T000000Z', first)).toMatchObject({
      kind: 'signed',
      signature: { signature: first },
    });
    expect(read('20260102T000001Z', second)).toEqual({
      kind: 'signed',
      signature: {
        accessKey: 'a',
        scope,
        date: '20260102',
        region: 'r',
        service: 'sqs',
        time: '20260102T000001Z',
        signedHeaders: ['host'],
        signature: second,
        expiresSeconds: undefined,
      },
    });
    expect(read('20260103T000000Z', second)).toMatchObject({ kind: 'incomplete' });
    expect(read('20260102T0000', second)).toMatchObject({ kind: 'incomplete' });
    expect(read('20260102T000000Z', '')).toMatchObject({ kind: 'incomplete' });
  });

  it('reads times', () => {
    expect(timeOf('20260102T030405Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
    expect(timeOf('2026-01-02T03:04:05Z')).toBeUndefined();
  });
});
