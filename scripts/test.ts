// `npm test [filters]`: every suite, in one run. The last line is `N passed, N failed[, N skipped]`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { foreignTools, lookAgain, missingDebianPackages } from '../test/support/foreign.js';
import type { Counts } from './count-reporter.js';

const root = join(import.meta.dirname, '..');
const INSTALL_MS_MAX = 240_000;
/** Debian asks this script before a package starts its service. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/** Foreign clients and servers that tests talk to: fetched when this machine lets us, else their tests are skipped. */
function installForeignTools(): void {
  const wanted = missingDebianPackages();
  const canInstall =
    process.getuid?.() === 0 && spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0;
  if (wanted.length === 0 || !canInstall) return;
  console.log(`installing for the interop tests: ${wanted.join(' ')}`);
  // The tests start their own servers, on loopback: the packages' services stay off.
  const policed = existsSync(SERVICE_POLICY);
  if (!policed) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    installDebianPackages(wanted);
  } finally {
    if (!policed) rmSync(SERVICE_POLICY, { force: true });
    lookAgain();
  }
}

function installDebianPackages(wanted: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { stdio: 'ignore', env, timeout: INSTALL_MS_MAX } as const;
  const install = (packages: readonly string[]): boolean =>
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], options).status === 0;
  if (install(wanted)) return;
  spawnSync('apt-get', ['update'], options);
  // One that this system does not have must not keep the others away.
  if (!install(wanted)) for (const one of wanted) install([one]);
}

function countsOf(file: string): Counts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Counts;
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

installForeignTools();
for (const tool of foreignTools()) {
  console.log(
    tool.found === undefined
      ? `skipped where needed: ${tool.name} is not here`
      : `with ${tool.name}: ${tool.found}`,
  );
}

// Tests that start the product as a process start its build, which is up three times sooner than the sources.
const built = spawnSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
if (built.status !== 0) console.log('the build failed: processes under test run from the sources');

const folder = mkdtempSync(join(tmpdir(), 'polymq-test-'));
const countsFile = join(folder, 'counts.json');
const reporters = [
  '--reporter',
  process.stdout.isTTY ? 'default' : 'dot',
  '--reporter',
  './scripts/count-reporter.ts',
];
const run = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, POLYMQ_TEST_COUNTS: countsFile },
  },
);
const counts = countsOf(countsFile);
rmSync(folder, { recursive: true, force: true });

const broken = run.status !== 0;
if (broken && counts.failed === 0) counts.failed = 1;
const skipped = counts.skipped > 0 ? `, ${String(counts.skipped)} skipped` : '';
console.log(`${String(counts.passed)} passed, ${String(counts.failed)} failed${skipped}`);
process.exitCode = broken || counts.failed > 0 ? 1 : 0;
