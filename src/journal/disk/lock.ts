import fs from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { BrokerError } from '../../core/errors.js';
import type { DirectoryLock } from './file-layer.js';
import { TEMPORARY_SUFFIX } from './layout.js';
import { bootId, isSameProcess, pidNamespace, startTime } from './process-identity.js';

/** Longest path of a socket that every system takes. */
const SOCKET_PATH_BYTES_MAX = 100;
/** Contenders for a dead holder's directory: each round one of them wins. */
const ROUNDS_MAX = 100;
/** How long a holder may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 2000;

type Identity = Pick<Holder, 'pid' | 'started' | 'boot' | 'namespace'>;

/** Makes the names of this process's attempts differ. */
let attempts = 0;

/** What a lock file says about its holder. */
interface Holder {
  readonly pid: number;
  readonly started: string;
  readonly boot: string;
  readonly namespace: string;
  /** Name of the socket the holder listens on: asked by those who cannot see its process. */
  readonly socket: string | undefined;
  readonly released: boolean;
}

/**
 * Takes a directory for this process. Lock files are numbered and the highest one counts. It is made in one step and never
 * deleted, so of several processes that find the holder dead exactly one makes the next number.
 *
 * A holder is dead when its process is (id and start time), when the machine was started anew, or, seen from another
 * container, when nobody listens on its socket any more. All of these end with the process: SIGKILL leaves nothing to clean up.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const self = await ownIdentity();
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const newest = await newestNumber(directory);
    if (newest > 0) await refuseIfHeld(directory, newest);
    const taken = await take(directory, newest + 1, self);
    if (taken !== undefined) return taken;
  }
  throw new BrokerError(
    'precondition',
    `the store in ${directory} could not be locked: too many processes want it`,
  );
}

async function take(directory: string, number: number, self: Identity): Promise<DirectoryLock | undefined> {
  // Names of its own: contenders for the same number must not touch each other's files.
  const own = `${lockName(number)}-${self.pid}-${self.started}-${++attempts}`;
  const server = await listen(join(directory, `${own}.socket`));
  const socket = server === undefined ? undefined : `${own}.socket`;
  const holder: Holder = { ...self, socket, released: false };
  const temporary = join(directory, own + TEMPORARY_SUFFIX);
  await fs.writeFile(temporary, JSON.stringify(holder));
  try {
    // Unlike a rename this fails when the name exists, and unlike a create it shows the content at once.
    await fs.link(temporary, lockPath(directory, number));
  } catch (error) {
    server?.close();
    // Somebody else made this number, or a later one and has tidied up.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOENT') return undefined;
    throw error;
  } finally {
    await fs.rm(temporary, { force: true });
  }
  // A slow contender may have made a number that was passed long ago.
  if ((await newestNumber(directory)) !== number) {
    server?.close();
    await fs.rm(lockPath(directory, number), { force: true });
    return undefined;
  }
  await removeOlder(directory, number);
  let released: Promise<void> | undefined;
  return {
    release: () => (released ??= release(directory, number, { ...holder, released: true }, server)),
  };
}

async function release(
  directory: string,
  number: number,
  holder: Holder,
  server: net.Server | undefined,
): Promise<void> {
  if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  const temporary = lockPath(directory, number) + TEMPORARY_SUFFIX;
  await fs.writeFile(temporary, JSON.stringify(holder));
  await fs.rename(temporary, lockPath(directory, number));
}

async function refuseIfHeld(directory: string, number: number): Promise<void> {
  const path = lockPath(directory, number);
  const text = await fs.readFile(path, 'utf8').catch(() => undefined);
  // Gone meanwhile: only when a later one was made.
  if (text === undefined) return;
  const holder = parse(text);
  // Not whole: its holder was cut off by the machine's end before the bytes were stored.
  if (holder === undefined || holder.released) return;
  if (!(await isAlive(directory, holder))) return;
  throw new BrokerError(
    'precondition',
    `the store in ${directory} is in use by process ${holder.pid} (${path}); a store belongs to one process at a time`,
  );
}

async function isAlive(directory: string, holder: Holder): Promise<boolean> {
  if (holder.boot !== (await bootId())) return false;
  if (holder.namespace === (await pidNamespace())) return isSameProcess(holder.pid, holder.started);
  return holder.socket === undefined || isListening(join(directory, holder.socket));
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.setTimeout(CONNECT_TIMEOUT_MS);
    const answer = (alive: boolean): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.on('connect', () => answer(true));
    // Too busy to answer is alive.
    socket.on('timeout', () => answer(true));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      answer(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

/** Listens beside the lock file; undefined where the file system or the length of the path forbids it. */
async function listen(path: string): Promise<net.Server | undefined> {
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) return undefined;
  await fs.rm(path, { force: true });
  return new Promise((resolve) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

async function ownIdentity(): Promise<Identity> {
  const [started, boot, namespace] = await Promise.all([startTime(process.pid), bootId(), pidNamespace()]);
  return { pid: process.pid, started, boot, namespace };
}

function parse(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Holder;
    return typeof holder.pid === 'number' ? holder : undefined;
  } catch {
    return undefined;
  }
}

function lockName(number: number): string {
  return `lock-${String(number).padStart(8, '0')}`;
}

function lockPath(directory: string, number: number): string {
  return join(directory, lockName(number));
}

function lockNumber(name: string): number {
  return Number(/^lock-(\d{8,})$/.exec(name)?.[1] ?? 0);
}

async function newestNumber(directory: string): Promise<number> {
  return Math.max(0, ...(await fs.readdir(directory)).map(lockNumber));
}

async function removeOlder(directory: string, number: number): Promise<void> {
  for (const name of await fs.readdir(directory)) {
    const older = Number(/^lock-(\d{8,})(-.*)?$/.exec(name)?.[1] ?? number);
    if (older < number) await fs.rm(join(directory, name), { force: true });
  }
}
