import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../src/app/index.js';
import { runProgram } from '../../src/app/cli/program.js';
import { ManualClock } from '../../src/base/clock.js';
import { TestAuthority, writePems } from '../support/certificates.js';
import { temporaryFolder } from '../support/folder.js';
import { startServer } from '../support/server.js';

/** What people are told whose broker speaks TLS, asks who they are, or is not there. */
const folder = temporaryFolder();
const pem = (name: string): string => join(folder.path, `${name}.pem`);
let brokers: readonly RunningBroker[] = [];
const url = { plain: '', secured: '', mutual: '', tokens: '' };

beforeAll(async () => {
  const [authority, other] = await Promise.all([TestAuthority.create(), TestAuthority.create('other')]);
  const [server, alice, stranger] = await Promise.all([
    authority.server(),
    authority.client('alice'),
    other.client('stranger'),
  ]);
  writePems(folder.path, {
    ca: authority.certificate,
    server: server.certificate,
    serverKey: server.key,
    alice: alice.certificate,
    aliceKey: alice.key,
    stranger: stranger.certificate,
    strangerKey: stranger.key,
  });
  const tls = { certFilename: pem('server'), keyFilename: pem('serverKey') };
  brokers = await Promise.all([
    startServer({ connectors: [] }),
    startServer({ connectors: [], config: { security: tls } }),
    startServer({ connectors: [], config: { security: { ...tls, caFilename: pem('ca') } } }),
    startServer({
      connectors: [],
      config: {
        authentication: { enable: true, jwtConfig: { key: 'a secret that is long enough 0123456789' } },
      },
    }),
  ]);
  const [plain, secured, mutual, tokens] = brokers.map((broker) => broker.address('api').port);
  url.plain = `http://localhost:${plain}`;
  url.secured = `https://localhost:${secured}`;
  url.mutual = `https://localhost:${mutual}`;
  url.tokens = `http://localhost:${tokens}`;
});
afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.stop()));
  folder.remove();
});

async function list(api: string, ...args: readonly string[]): Promise<{ code: number; lines: string[] }> {
  let out = '';
  const code = await runProgram(['queues', 'list', '--api', api, ...args], {
    environment: {},
    out: (text) => (out += text),
    error: (text) => (out += text),
    input: () => Readable.from([]),
    clock: new ManualClock(),
  });
  return { code, lines: out.trimEnd().split('\n') };
}
const refused = (reason: RegExp, hint: RegExp) => ({
  code: 1,
  lines: [expect.stringMatching(reason), expect.stringMatching(hint)],
});

describe('polymq', () => {
  it('speaks TLS to a broker whose authority it knows, with a certificate where one is asked for', async () => {
    expect(await list(url.secured, '--ca', pem('ca'))).toMatchObject({ code: 0 });
    const own = ['--ca', pem('ca'), '--cert', pem('alice'), '--key', pem('aliceKey')];
    expect(await list(url.mutual, ...own)).toMatchObject({ code: 0 });
  });

  it('says which option is missing', async () => {
    expect(await list(url.secured)).toEqual(refused(/unable to verify the first certificate$/, /--ca/));
    expect(await list(url.secured.replace('https', 'http'))).toEqual(
      refused(/socket hang up$/, /https:\/\//),
    );
    expect(await list(url.plain.replace('http', 'https'))).toEqual(
      refused(/wrong version number$/, /no TLS/),
    );
    expect(await list(url.mutual, '--ca', pem('ca'))).toEqual(
      refused(/tlsv13 alert certificate required$/, /--cert and --key/),
    );
    const strange = ['--cert', pem('stranger'), '--key', pem('strangerKey')];
    expect(await list(url.mutual, '--ca', pem('ca'), ...strange)).toEqual(
      refused(/./, /is --cert of its authority/),
    );
    expect(await list(url.mutual, '--ca', pem('ca'), '--cert', pem('alice'))).toEqual({
      code: 2,
      lines: ['polymq: --cert and --key go together'],
    });
    expect(await list('http://127.0.0.1:1')).toEqual(refused(/ECONNREFUSED/, /is the broker running/));
  });

  it('says that a token is needed, or no good', async () => {
    expect(await list(url.tokens)).toEqual({
      code: 1,
      lines: ['polymq: a token is needed: --token (POLYMQ_TOKEN)'],
    });
    expect(await list(url.tokens, '--token', 'x')).toEqual({
      code: 1,
      lines: ['polymq: the token is not valid'],
    });
  });
});
