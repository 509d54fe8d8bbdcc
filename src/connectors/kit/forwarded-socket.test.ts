import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { memoryStreams, type MemoryStream } from '../../../test/support/memory-bus.js';
import { ForwardedSocket, type ConnectionOrigin } from './forwarded-socket.js';
import { isSecure, peerNameOf, type TlsSource } from './tls-gate.js';

const ORIGIN: ConnectionOrigin = {
  remoteAddress: '192.0.2.7',
  remotePort: 40_000,
  localAddress: '192.0.2.1',
  localPort: 4566,
  secure: true,
  certificateName: 'alice',
};

function pair(): readonly [socket: ForwardedSocket, far: MemoryStream] {
  const [near, far] = memoryStreams();
  return [new ForwardedSocket(near, ORIGIN), far];
}

/** Everything up to the end. */
async function rest(far: MemoryStream): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await far.read(); chunk !== undefined; chunk = await far.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a forwarded socket', () => {
  it('carries bytes of any size both ways, in order', async () => {
    const [socket, far] = pair();
    const sent = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => i % 251));
    socket.cork();
    for (let at = 0; at < sent.length; at += 333_333) socket.write(sent.subarray(at, at + 333_333));
    socket.uncork();
    socket.end();
    expect((await rest(far)).equals(sent)).toBe(true);
    expect(socket.bytesWritten).toBe(sent.length);

    void (async () => {
      for (let at = 0; at < sent.length; at += 70_000) await far.write(sent.subarray(at, at + 70_000));
      far.end();
    })();
    const got: Buffer[] = [];
    for await (const chunk of socket) got.push(chunk as Buffer);
    expect(Buffer.concat(got).equals(sent)).toBe(true);
    expect(socket.bytesRead).toBe(sent.length);
  });

  it.each(['readable', 'data'] as const)('goes on after a reader held it back, by %s', async (way) => {
    const [socket, far] = pair();
    let read = 0;
    if (way === 'readable') {
      socket.on('readable', () => {
        for (let chunk; (chunk = socket.read(10_000) as Buffer | null) !== null;) read += chunk.length;
      });
    } else {
      socket.on('data', (chunk: Buffer) => {
        read += chunk.length;
        socket.pause();
        // In the middle of the push, and a turn later.
        if (read % 3 === 0) socket.resume();
        else setImmediate(() => socket.resume());
      });
    }
    for (let i = 0; i < 200; i++) await far.write(Buffer.alloc(i % 2 === 0 ? 20_000 : 50_000));
    far.end();
    await once(socket, 'close');
    expect(read).toBe(7_000_000);
  });

  it('says of the client what the node saw that accepted it', () => {
    const [socket] = pair();
    const source = { certificateIdentity: true } as TlsSource;
    const { remoteAddress, remotePort } = socket.asSocket;
    expect([remoteAddress, remotePort]).toEqual(['192.0.2.7', 40_000]);
    expect([isSecure(socket.asSocket), peerNameOf(socket.asSocket, source)]).toEqual([true, 'alice']);
    expect(peerNameOf(socket.asSocket, { ...source, certificateIdentity: false })).toBeUndefined();
  });

  it('answers an end with its own, and closes', async () => {
    const [socket, far] = pair();
    socket.resume();
    const closed = once(socket, 'close');
    far.end();
    await closed;
    expect(await far.read()).toBeUndefined();
    expect(far.aborted).toBe(false);
  });

  it('does not take back what it said last when it is destroyed behind it', async () => {
    const [socket, far] = pair();
    socket.write('the last words');
    socket.asSocket.destroySoon();
    await once(socket, 'close');
    // What the other side still sends is heard by nobody, and hurts nobody.
    for (let i = 0; i < 10; i++) await far.write(Buffer.alloc(1000));
    expect((await rest(far)).toString()).toBe('the last words');
    far.end();
    expect(far.aborted).toBe(false);
  });

  it('gives up the other side when that goes on for long', async () => {
    const [socket, far] = pair();
    socket.asSocket.destroySoon();
    await once(socket, 'close');
    await expect(
      (async () => {
        for (let i = 0; i < 100; i++) await far.write(Buffer.alloc(64 * 1024));
      })(),
    ).rejects.toThrow('gone');
  });

  it('gives up the other side when it is destroyed in the middle', async () => {
    const [socket, far] = pair();
    socket.write('half a');
    socket.destroy();
    expect((await far.read())?.toString()).toBe('half a');
    await expect(far.read()).rejects.toThrow('gone');
  });

  it('fails when the other side does', async () => {
    const [socket, far] = pair();
    socket.resume();
    far.abort();
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toContain('gone');
  });

  it("is enough of a socket for node's HTTP server", async () => {
    const server = createServer((request, response) => {
      response.end(`${request.url ?? ''} from ${request.socket.remoteAddress ?? ''}`);
    });
    const [near, far] = memoryStreams();
    server.emit('connection', new ForwardedSocket(near, ORIGIN));
    const client = new ForwardedSocket(far, ORIGIN);
    const request = get('http://x/hello', { createConnection: () => client });
    const [answer] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    expect(text).toBe('/hello from 192.0.2.7');
  });
});
