import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/app/cli/program.js';
import { SystemClock } from '../../src/base/clock.js';
import { temporaryFolder } from '../support/folder.js';
import { programArguments, spawnBroker, type BrokerProcess } from '../support/process.js';

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

let broker: BrokerProcess;
const cleanUp: (() => unknown)[] = [];
beforeAll(async () => {
  const folder = temporaryFolder();
  broker = await spawnBroker({ folder: join(folder.path, 'store') });
  return async () => {
    await broker.kill('SIGTERM');
    folder.remove();
  };
});
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

/** Runs the program in this process. */
async function quick(args: readonly string[], { port = broker.port('api'), ...more } = {}): Promise<Ran> {
  let out = '';
  let error = '';
  const code = await runProgram(args, {
    environment: { POLYMQ_API: `http://127.0.0.1:${port}` },
    out: (text) => (out += text),
    error: (text) => (error += text),
    input: () => Readable.from([]),
    clock: new SystemClock(),
    ...more,
  });
  return { code, out, error };
}

/** The real program while it runs. */
class Tail {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  out = '';
  #look = (): void => undefined;

  constructor(args: readonly string[], { port } = { port: broker.port('api') }) {
    const child = spawn(process.execPath, [...programArguments(), 'tail', ...args], {
      env: { ...process.env, POLYMQ_API: `http://127.0.0.1:${port}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    cleanUp.push(() => child.kill('SIGKILL'));
    let error = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      this.#look();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text));
    this.ended = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, out: this.out, error }));
    });
  }

  shows(text: RegExp): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (text.test(this.out)) resolve();
      };
      this.#look();
    });
  }
}

/** Sends until somebody listened: a program needs a moment to start. */
async function sendEvent(channel: string, body: string, port = broker.port('api')): Promise<void> {
  for (;;) {
    const { out, error } = await quick(['send', '--to', 'events', channel, body, '--json'], { port });
    if (error !== '') throw new Error(error);
    if ((JSON.parse(out) as { subscribers: number }).subscribers > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const bodies = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^\d{4}-\S+Z {2}/, ''));

describe('polymq tail --events', () => {
  it('shows events of a pattern as they come, one a line, until Ctrl-C', async () => {
    const tail = new Tail(['--events', 'tail.a.>']);
    await sendEvent('tail.a.x', 'one');
    await sendEvent('tail.a.y.z', 'two\nlines\u001b[2J');
    await quick(['send', '--to', 'events', 'tail.b', 'for nobody']);
    await tail.shows(/two/);
    tail.child.kill('SIGINT');
    const { code, out, error } = await tail.ended;
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(bodies(out)).toEqual(['tail.a.x  one', 'tail.a.y.z  two·lines·[2J']);
  });

  it('shows everything there is to know with --json; members of a group take turns', async () => {
    const tails = [1, 2].map(() => new Tail(['-e', 'tail.json', '--group', 'g', '--json']));
    const listeners = async (): Promise<number> => {
      const { out } = await quick(['channels', 'list', 'tail.json', '--json']);
      return out === '' ? 0 : (JSON.parse(out) as { subscribers: number }).subscribers;
    };
    while ((await listeners()) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    for (const body of ['a', 'b'])
      await quick(['send', '--to', 'events', 'tail.json', body, '-t', 'k=v', '-m', 'meta']);
    await Promise.all(tails.map((tail) => tail.shows(/\n/)));
    for (const tail of tails) tail.child.kill('SIGTERM');
    const [a, b] = (await Promise.all(tails.map(({ ended }) => ended))).map(
      ({ out }) => JSON.parse(out) as { body: string },
    );
    expect([a?.body, b?.body].toSorted()).toEqual(['a', 'b']);
    expect(a).toMatchObject({
      channel: 'tail.json',
      tags: { k: 'v' },
      metadata: 'meta',
      bodyEncoding: 'text',
      sentAt: expect.any(Number),
    });
  });

  it('ends with the reason when the broker stops', async () => {
    const folder = temporaryFolder();
    cleanUp.push(() => folder.remove());
    const other = await spawnBroker({ folder: join(folder.path, 'store') });
    const port = other.port('api');
    const live = new Tail(['--events', 'x'], { port });
    await sendEvent('x', 'there', port);
    await live.shows(/there/);
    expect(await other.kill('SIGTERM')).toMatchObject({ code: 0 });
    expect(await live.ended).toMatchObject({ code: 1, error: 'polymq: the broker shuts down\n' });
    const gone = new Tail(['--events', 'x'], { port });
    expect(await gone.ended).toMatchObject({
      code: 1,
      error: expect.stringContaining('no answer from http'),
    });
  });

  it('ends when nobody reads it', async () => {
    const tail = new Tail(['--events', 'tail.pipe']);
    await sendEvent('tail.pipe', 'first');
    await tail.shows(/first/);
    tail.child.stdout?.destroy();
    const { code, error } = await (async () => {
      for (;;) {
        await quick(['send', '--to', 'events', 'tail.pipe', 'more']);
        const ended = await Promise.race([tail.ended, new Promise((resolve) => setTimeout(resolve, 50))]);
        if (ended !== undefined) return ended as Ran;
      }
    })();
    expect({ code, error }).toEqual({ code: 0, error: '' });
  });
});

describe('what tail cannot do', () => {
  it.each([
    [['tail.*'], 'a pattern is for live events: add --events'],
    [['tail.x', '--group', 'g'], '--group is for live events: add --events'],
    [['tail.x', '-e', '-n', '5'], '--lines, --from and --follow are for logs: live events are kept nowhere'],
    [['tail.x', '-e', '--follow'], '--lines, --from and --follow are for logs: live events are kept nowhere'],
  ])('%j is told before anybody is asked', async (args, text) => {
    expect(await quick(['tail', ...args], { port: 1 })).toEqual({
      code: 2,
      out: '',
      error: `polymq: ${text}\n`,
    });
  });

  it('is said by the broker', async () => {
    expect((await quick(['tail', '-e', 'a.*b'])).error).toMatch(/^polymq: wildcards must be whole tokens/);
    expect((await quick(['tail', '-e', 'a b'])).error).toMatch(/white space/);
    expect((await quick(['tail', 'tail.none'])).error).toBe(
      'polymq: there is no log tail.none; live events are shown with --events\n',
    );
  });
});

describe('a server that is no broker', () => {
  async function answering(handle: RequestListener): Promise<number> {
    const server: Server = createServer(handle);
    cleanUp.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  it('is said to be none, and one that breaks off did not answer', async () => {
    const strange = await answering((_request, response) => response.end('<html>\n'));
    expect((await quick(['tail', '-e', 'x'], { port: strange })).error).toMatch(/is no Polymq API/);
    const empty = await answering((_request, response) => response.end());
    expect(await quick(['tail', '-e', 'x'], { port: empty })).toMatchObject({
      code: 1,
      error: 'polymq: the broker ended the stream\n',
    });
    const broken = await answering((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"channels":', () => response.destroy());
    });
    for (const args of [
      ['tail', '-e', 'x'],
      ['channels', 'list'],
    ])
      expect(await quick(args, { port: broken })).toMatchObject({
        code: 1,
        error: expect.stringMatching(/^polymq: no answer from http:\/\/127\.0\.0\.1:\d+: aborted\n$/),
      });
  });
});
