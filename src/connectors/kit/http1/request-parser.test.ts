import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HttpRefusal } from './refusal.js';
import { RequestParser } from './request-parser.js';
import type { RequestParserLimits } from './request-parser.js';

const LIMITS: RequestParserLimits = { headerBytesMax: 8_192, bodyBytesMax: 1_000 };

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly keepAlive: boolean;
}

interface Parsed {
  readonly requests: Seen[];
  readonly status: number | undefined;
}

/** Feeds the pieces and gives the requests and the status of the refusal, if there was one. */
function parse(pieces: readonly Buffer[], limits = LIMITS): Parsed {
  const parser = new RequestParser(limits);
  const requests: Seen[] = [];
  try {
    for (const piece of pieces) {
      parser.feed(Buffer.from(piece));
      for (let next = parser.next(); next !== undefined; next = parser.next()) {
        const { head, body, keepAlive } = next;
        const headers = { ...head.record() };
        requests.push({
          method: head.method,
          url: head.url,
          headers,
          body: body?.toString('latin1'),
          keepAlive,
        });
      }
    }
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error;
    return { requests, status: error.status };
  }
  return { requests, status: undefined };
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const singly = (all: Buffer): Buffer[] => [...all].map((byte) => Buffer.from([byte]));
const post = (fields: string, body = ''): string => `POST / HTTP/1.1\r\nHost: h\r\n${fields}\r\n${body}`;

const GOLDEN =
  'POST /000000000000/q?a=b%20c HTTP/1.1\r\nHost: 127.0.0.1:4100\r\nX-Amz-Target:AmazonSQS.SendMessage\r\n' +
  'Empty:\r\nPadded: \t a  b\t \r\ncontent-LENGTH: 5\r\nX-Two: 1\r\nX-Two: 2\r\n\r\nhello' +
  '\r\nGET http://other:80/p?q HTTP/1.1\r\nHost: h\r\n\r\n' +
  'PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n5;ext="x"\r\nhello\r\n01\r\n!\r\n0\r\nTrailer: t\r\n\r\n' +
  'OPTIONS * HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n' +
  'DELETE /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';

const GOLDEN_REQUESTS: Seen[] = [
  {
    method: 'POST',
    url: '/000000000000/q?a=b%20c',
    headers: {
      host: '127.0.0.1:4100',
      'x-amz-target': 'AmazonSQS.SendMessage',
      empty: '',
      padded: 'a  b',
      'content-length': '5',
      'x-two': '1, 2',
    },
    body: 'hello',
    keepAlive: true,
  },
  { method: 'GET', url: '/p?q', headers: { host: 'other:80' }, body: '', keepAlive: true },
  {
    method: 'PUT',
    url: '/',
    headers: { host: 'h', 'transfer-encoding': 'Chunked' },
    body: 'hello!',
    keepAlive: true,
  },
  { method: 'OPTIONS', url: '*', headers: { connection: 'x, Keep-Alive' }, body: '', keepAlive: true },
  { method: 'DELETE', url: '/last', headers: { host: 'h', connection: 'close' }, body: '', keepAlive: false },
];

describe('request parser', () => {
  it('reads golden requests', () => {
    expect(parse([bytes(GOLDEN)])).toEqual({ requests: GOLDEN_REQUESTS, status: undefined });
  });

  it('reads them one byte at a time and cut at any place', () => {
    const all = bytes(GOLDEN);
    expect(parse(singly(all)).requests).toEqual(GOLDEN_REQUESTS);
    for (let cut = 1; cut < all.length; cut++) {
      expect(parse([all.subarray(0, cut), all.subarray(cut)]).requests).toEqual(GOLDEN_REQUESTS);
    }
  });

  it('reads them cut at many places', () => {
    const all = bytes(GOLDEN);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length), { maxLength: 40 }), (places) => {
        const cuts = [0, ...places.sort((a, b) => a - b), all.length];
        const pieces = cuts.slice(1).map((cut, i) => all.subarray(cuts[i], cut));
        expect(parse(pieces.filter(({ length }) => length > 0)).requests).toEqual(GOLDEN_REQUESTS);
      }),
    );
  });

  it('finds headers whatever their case, the first of several', () => {
    const parser = new RequestParser(LIMITS);
    parser.feed(bytes(GOLDEN));
    const head = parser.next()?.head;
    expect(head?.header('x-amz-target')).toBe('AmazonSQS.SendMessage');
    expect(head?.header('content-length')).toBe('5');
    expect(head?.header('x-two')).toBe('1');
    expect(head?.valuesOf('x-two')).toEqual(['1', '2']);
    expect(head?.header('x-tw')).toBeUndefined();
  });

  it('never fails otherwise than by a refusal, and alike for whole and cut bytes', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'GET / HTTP/1.1\r\n',
        'Host: h\r\n',
        '\r\n',
        'Content-Length: 3\r\n',
        'abc',
        '0\r\n',
        'a: b',
      ),
      fc.constantFrom(
        'Transfer-Encoding: chunked\r\n',
        '3\r\nabc\r\n',
        ' ',
        '\n',
        '\r',
        '\0',
        ':',
        'HTTP/1.1',
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const all = bytes(pieces.join(''));
        expect(parse(singly(all))).toEqual(parse([all]));
      }),
      { numRuns: 500 },
    );
  });

  it('gives back bodies of any bytes, in either form', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 90 }), { maxLength: 10 }), (parts) => {
        const body = Buffer.concat(parts);
        const long = Buffer.concat([bytes(post(`Content-Length: ${body.length}\r\n`)), body]);
        const chunks = parts
          .filter(({ length }) => length > 0)
          .flatMap((part) => [bytes(`${part.length.toString(16)}\r\n`), Buffer.from(part), bytes('\r\n')]);
        const chunked = Buffer.concat([
          bytes(post('Transfer-Encoding: chunked\r\n')),
          ...chunks,
          bytes('0\r\n\r\n'),
        ]);
        for (const all of [long, chunked]) {
          expect(parse([all]).requests[0]?.body).toBe(body.toString('latin1'));
          expect(parse(singly(all)).requests[0]?.body).toBe(body.toString('latin1'));
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('request parser refuses', () => {
  it.each([
    // What two readers could understand in two ways.
    ['length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
    ['chunks and length', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'), 400],
    ['two lengths', post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello'), 400],
    ['a list of lengths', post('Content-Length: 5, 5\r\n', 'hello'), 400],
    ['a signed length', post('Content-Length: +5\r\n', 'hello'), 400],
    ['a negative length', post('Content-Length: -5\r\n', 'hello'), 400],
    ['a hexadecimal length', post('Content-Length: 0x5\r\n', 'hello'), 400],
    ['an empty length', post('Content-Length:\r\n', 'hello'), 400],
    ['a length beyond counting', post(`Content-Length: ${'9'.repeat(30)}\r\n`), 400],
    ['a length with a space inside', post('Content-Length: 1 2\r\n'), 400],
    ['white space before a colon', post('Content-Length : 5\r\n', 'hello'), 400],
    ['a tab before a colon', post('Transfer-Encoding\t: chunked\r\n'), 400],
    ['two codings in two fields', post('Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n'), 400],
    ['chunks not last', post('Transfer-Encoding: chunked, gzip\r\n'), 400],
    ['identity', post('Transfer-Encoding: identity\r\n'), 400],
    ['a made-up coding', post('Transfer-Encoding: xchunked\r\n'), 400],
    ['a coding with a vertical tab', post('Transfer-Encoding: \u000bchunked\r\n'), 400],
    ['a coding in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['an unknown coding under chunks', post('Transfer-Encoding: gzip, chunked\r\n'), 501],
    ['two hosts', post('Host: other\r\n'), 400],
    ['no host', 'GET / HTTP/1.1\r\nA: b\r\n\r\n', 400],
    ['a folded field', post('A: b\r\n c\r\n'), 400],
    ['a folded first field', 'GET / HTTP/1.1\r\n Host: h\r\n\r\n', 400],
    ['a bare CR in a value', post('A: b\rContent-Length: 5\r\n'), 400],
    ['a bare LF after a value', post('A: b\nContent-Length: 5\r\n'), 400],
    ['a bare LF after the request line', 'GET / HTTP/1.1\nHost: h\r\n\r\n', 400],
    ['a bare CR at the end', 'GET / HTTP/1.1\r\nHost: h\r\n\rX', 400],
    ['NUL in a value', post('A: b\0c\r\n'), 400],
    ['NUL in a name', post('A\0: b\r\n'), 400],
    ['NUL in the target', 'GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['DEL in a value', post('A: \u007f\r\n'), 400],
    ['a name beyond ASCII', post('\u00e4: b\r\n'), 400],
    ['a field without a colon', post('Content-Length\r\n'), 400],
    ['a field without a name', post(': 5\r\n'), 400],
    // Chunks.
    ['a chunk without a size', post('Transfer-Encoding: chunked\r\n', '\r\nhello'), 400],
    ['a chunk size that is none', post('Transfer-Encoding: chunked\r\n', 'zz\r\nhello'), 400],
    ['a chunk size with 0x', post('Transfer-Encoding: chunked\r\n', '0x5\r\nhello\r\n0\r\n\r\n'), 400],
    ['a negative chunk', post('Transfer-Encoding: chunked\r\n', '-5\r\nhello'), 400],
    ['a chunk size with a space', post('Transfer-Encoding: chunked\r\n', '5 \r\nhello'), 400],
    ['a space before a chunk size', post('Transfer-Encoding: chunked\r\n', ' 5\r\nhello'), 400],
    ['a chunk size that overflows', post('Transfer-Encoding: chunked\r\n', 'fffffffff\r\nhello'), 400],
    ['a chunk size with a bare LF', post('Transfer-Encoding: chunked\r\n', '5\nhello'), 400],
    ['an extension with a bare LF', post('Transfer-Encoding: chunked\r\n', '5;a\nhello'), 400],
    ['a chunk longer than said', post('Transfer-Encoding: chunked\r\n', '4\r\nhello\r\n'), 400],
    ['a chunk ended by a bare LF', post('Transfer-Encoding: chunked\r\n', '5\r\nhello\n0\r\n\r\n'), 400],
    ['a trailer with NUL', post('Transfer-Encoding: chunked\r\n', '0\r\nA: \0\r\n\r\n'), 400],
    ['a trailer with a bare LF', post('Transfer-Encoding: chunked\r\n', '0\r\nA: b\n\r\n'), 400],
    ['endless extensions', post('Transfer-Encoding: chunked\r\n', `5;${'x'.repeat(20_000)}`), 431],
    ['endless trailers', post('Transfer-Encoding: chunked\r\n', `0\r\n${'a: b\r\n'.repeat(5_000)}`), 431],
    // The request line.
    ['garbage', '\0\u0001\u0002 garbage\r\n\r\n', 400],
    ['a TLS hello', '\u0016\u0003\u0001\0\u00f8', 400],
    ['AMQP', 'AMQP\0\0\u0009\u0001', 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: h\r\n\r\n', 505],
    ['HTTP/0.9', 'GET /\r\n', 400],
    ['another protocol', 'GET / HTCPCP/1.0\r\n', 400],
    ['a version in lower case', 'GET / http/1.1\r\n', 400],
    ['no version', 'GET / \r\nHost: h\r\n\r\n', 400],
    ['a longer version', 'GET / HTTP/1.11\r\nHost: h\r\n\r\n', 400],
    ['no target', 'GET  HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a target beyond ASCII', 'GET /\u00e4 HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a target of no origin', 'GET a HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['an authority as target', 'CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a star for other methods', 'GET * HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a leading space', ' GET / HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['many empty lines', `${'\r\n'.repeat(5)}GET / HTTP/1.1\r\nHost: h\r\n\r\n`, 400],
    ['a method without end', 'A'.repeat(40), 400],
    ['a target without end', `GET /${'a'.repeat(10_000)}`, 414],
    ['fields without end', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(2_000)}`, 431],
    ['a field without end', `GET / HTTP/1.1\r\nA: ${'b'.repeat(10_000)}`, 431],
    ['an unknown expectation', post('Expect: more\r\nContent-Length: 5\r\n'), 417],
  ])('%s', (_name, text, status) => {
    const all = bytes(text);
    expect(parse([all])).toEqual({ requests: [], status });
    expect(parse(singly(all))).toEqual({ requests: [], status });
  });

  it('more fields than it counts', () => {
    const head = `GET / HTTP/1.1\r\n${'a:\r\n'.repeat(600)}`;
    expect(parse([bytes(head)]).status).toBe(431);
  });
});

describe('request parser bounds', () => {
  it('says that a body was too large, after reading it or enough of it, and keeps none of it', () => {
    const long = (length: number, sent = length): Buffer =>
      bytes(post(`Content-Length: ${length}\r\n`, 'x'.repeat(sent)));
    expect(parse([long(1_000)]).requests[0]?.body).toHaveLength(1_000);
    expect(parse([long(1_001)]).requests).toMatchObject([{ body: undefined, keepAlive: false }]);
    expect(parse([long(1_000_000, 3_000)]).requests).toEqual([]);
    expect(parse([long(1_000_000, 5_000)]).requests).toMatchObject([{ body: undefined, keepAlive: false }]);
    const chunks = bytes(
      post('Transfer-Encoding: chunked\r\n', `${`64\r\n${'x'.repeat(100)}\r\n`.repeat(11)}0\r\n\r\n`),
    );
    expect(parse(singly(chunks)).requests).toMatchObject([{ body: undefined, keepAlive: false }]);
  });

  it('takes a head of exactly the limit', () => {
    const head = (size: number): Buffer => {
      const rest = 'GET / HTTP/1.1\r\nHost: h\r\nA: \r\n\r\n';
      return bytes(rest.replace('A: ', `A: ${'b'.repeat(size - rest.length)}`));
    };
    expect(parse([head(LIMITS.headerBytesMax)]).requests).toHaveLength(1);
    expect(parse([head(LIMITS.headerBytesMax + 1)]).status).toBe(431);
  });

  it('says once that the peer waits to go on', () => {
    const parser = new RequestParser(LIMITS);
    parser.feed(bytes(post('Expect: 100-Continue\r\nContent-Length: 5\r\n')));
    expect(parser.next()).toBeUndefined();
    expect([parser.takeAwaitsContinue(), parser.takeAwaitsContinue()]).toEqual([true, false]);
    expect(parser.phase).toBe('body');
    parser.feed(bytes('hello'));
    expect(parser.next()?.body?.toString()).toBe('hello');
    expect(parser.phase).toBe('idle');
  });

  it('refuses a body that waits to be asked for when it is too large', () => {
    const parser = new RequestParser(LIMITS);
    parser.feed(bytes(post('Expect: 100-continue\r\nContent-Length: 5000\r\n')));
    expect(parser.next()).toMatchObject({ body: undefined, keepAlive: false });
  });

  it('does not hold on to what was used while requests are pipelined without an end', () => {
    const parser = new RequestParser(LIMITS);
    const request = bytes(post('Content-Length: 5\r\n', 'hello'));
    parser.feed(request.subarray(0, 10));
    const turned = Buffer.concat([request.subarray(10), request.subarray(0, 10)]);
    for (let i = 0; i < 1_000; i++) {
      parser.feed(Buffer.from(turned));
      expect(parser.next()?.body?.buffer.byteLength).toBeLessThan(10_000);
      expect(parser.next()).toBeUndefined();
      expect(parser.heldBytes).toBe(10);
    }
  });
});
