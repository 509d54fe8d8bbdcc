import { Readable } from 'node:stream';
import { createServer, type Server } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { temporaryFolder } from '../../../test/support/folder.js';
import { runProgram } from './program.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

async function run(
  args: readonly string[],
  environment: Record<string, string> = {},
  input: { readonly typed?: boolean; readonly chunks?: readonly Buffer[] } = {},
): Promise<Ran> {
  let out = '';
  let error = '';
  const code = await runProgram(args, {
    environment,
    out: (text) => (out += text),
    error: (text) => (error += text),
    input: () => Readable.from(input.chunks ?? []),
    ...(input.typed === undefined ? {} : { typed: input.typed }),
    clock: new ManualClock(),
  });
  return { code, out, error };
}

describe('polymq', () => {
  it('--help lists the commands', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const command of ['serve', 'config', 'store', 'alias']) expect(out).toContain(`  ${command}`);
  });

  it('--version says the version', async () => {
    expect((await run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('refuses what it does not know with exit code 2', async () => {
    expect((await run(['dance'])).code).toBe(2);
    expect((await run(['config', '--no-such-flag'])).code).toBe(2);
    expect((await run([])).code).toBe(2);
  });
});

describe('polymq serve --help', () => {
  it('lists every flag with its variable', async () => {
    const { out } = await run(['serve', '--help']);
    expect(out).toContain('--connectors-aws-port <number>');
    expect(out).toContain('[CONNECTORS_AWS_PORT]');
    expect(out).toContain('connectors.aws:');
  });
});

describe('polymq send without a message', () => {
  // Nothing listens there: what is read is not sent.
  const nowhere = ['--api', 'http://127.0.0.1:1'];
  const chunks = [Buffer.from('hello\n')];

  it('tells somebody at a keyboard that they are waited for, and how to end', async () => {
    const whole = await run(['send', 'q', ...nowhere], {}, { typed: true, chunks });
    expect(whole.error).toMatch(/^type the message; Ctrl-D on a line of its own ends it\n/);
    const lines = await run(['send', 'q', '--lines', ...nowhere], {}, { typed: true, chunks });
    expect(lines.error).toMatch(/^type messages, one a line; Ctrl-D/);
    expect([whole.out, lines.out]).toEqual(['', '']);
  });

  it('says nothing to a pipe, nor to who gives the message or a file', async () => {
    const quiet = [
      await run(['send', 'q', ...nowhere], {}, { typed: false, chunks }),
      await run(['send', 'q', 'hello', ...nowhere], {}, { typed: true }),
      await run(['send', 'q', '--file', '/nonexistent', ...nowhere], {}, { typed: true }),
    ];
    for (const { error } of quiet) expect(error).not.toContain('Ctrl-D');
  });
});

describe('what people use', () => {
  it.each([
    'send',
    'receive',
    'peek',
    'purge',
    'tail',
    'move',
    'queues list',
    'logs list',
    'channels list',
    'alias add',
  ])('polymq %s --help tells how it is used', async (name) => {
    const { code, out } = await run([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(out).toContain(`Usage: polymq ${name} `);
    expect(out).toContain('--token <jwt>');
  });
});

describe('polymq serve', () => {
  it('refuses a bad configuration before anything starts, one line per fault', async () => {
    const { code, error } = await run(['serve', '--api-port', 'x'], { STORE_SYNC: 'never' });
    expect(code).toBe(2);
    expect(error.split('\n')).toEqual([
      'polymq: --api-port: must be a whole number (0–65535), not "x"',
      'polymq: STORE_SYNC: must be one of always, interval, not "never"',
      '',
    ]);
  });
});

describe('polymq config', () => {
  it('prints what is in effect and where it came from', async () => {
    const { code, out } = await run(
      ['config', '--all', '--store-path', '/srv/x', '--connectors-amqp-enable=false'],
      {
        API_PORT: '0',
      },
    );
    expect(code).toBe(0);
    expect(out).toContain('  port: 0  # environment');
    expect(out).toContain('  path: "/srv/x"  # flag');
    expect(out).toMatch(/aws:\n {4}enable: true/);
    expect(out).toMatch(/amqp:\n {4}enable: false {2}# flag/);
  });

  it('takes a flag that stands alone as yes', async () => {
    expect((await run(['config', '--grpc-enable'])).out).toMatch(/grpc:\n {2}enable: true {2}# flag/);
  });

  it('prints a file that gives the same again', async () => {
    const folder = temporaryFolder();
    try {
      const first = await run(['config'], {
        POLYMQ_HOST: 'here',
        ALIASES: 'a.b=c.d',
        CONNECTORS_AWS_ACCOUNT_ID: '000000000123',
      });
      const file = join(folder.path, 'polymq.yaml');
      writeFileSync(file, first.out);
      const bare = (text: string): string => text.replace(/ {2}# \w+$/gm, '');
      expect(bare((await run(['config', '--config', file])).out)).toBe(bare(first.out));
    } finally {
      folder.remove();
    }
  });
});

describe('polymq alias', () => {
  let server: Server | undefined;
  afterEach(async () => {
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
    server = undefined;
  });

  async function answering(status: number, body: string): Promise<{ api: string; seen: string[] }> {
    const seen: string[] = [];
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        seen.push(`${request.method ?? ''} ${request.url ?? ''} ${text}`.trim());
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return {
      api: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
      seen,
    };
  }

  it('adds one', async () => {
    const { api, seen } = await answering(201, '{"alias":"a","channel":"b"}');
    const { code, out } = await run(['alias', 'add', 'amqp.default.orders', 'sqs.orders'], {
      POLYMQ_API: api,
    });
    expect([code, out]).toEqual([0, 'amqp.default.orders -> sqs.orders\n']);
    expect(seen).toEqual(['POST /api/v1/aliases {"alias":"amqp.default.orders","channel":"sqs.orders"}']);
  });

  it('removes one, whatever its letters', async () => {
    const { api, seen } = await answering(204, '');
    const { code } = await run(['alias', 'remove', '--api', api, 'a/b%c']);
    expect([code, seen]).toEqual([0, ['DELETE /api/v1/aliases/a%2Fb%25c']]);
  });

  it('lists them', async () => {
    const { api } = await answering(200, '{"aliases":[{"alias":"x","channel":"y"}]}');
    expect((await run(['alias', 'list'], { POLYMQ_API: api })).out).toBe('ALIAS  CHANNEL\nx      y\n');
  });

  it('says why the broker refused, and when there is none', async () => {
    const { api } = await answering(409, '{"error":"already-exists","message":"x is a channel of its own"}');
    const refused = await run(['alias', 'add', 'x', 'y'], { POLYMQ_API: api });
    expect([refused.code, refused.error]).toEqual([1, 'polymq: x is a channel of its own\n']);
    const alone = await run(['alias', 'list'], { POLYMQ_API: 'http://127.0.0.1:1' });
    expect(alone.code).toBe(1);
    expect(alone.error).toMatch(/no answer from http:\/\/127\.0\.0\.1:1/);
  });
});
