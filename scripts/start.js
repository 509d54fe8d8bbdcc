// `npm start`: compiles when the sources are newer than dist/, then serves every connector on its default port.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist/app/main.js');

/** @param {string} folder */
function newestMs(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestMs(path) : statSync(path).mtimeMs);
  }
  return newest;
}

const sources = Math.max(newestMs(join(root, 'src')), statSync(join(root, 'package.json')).mtimeMs);
if (!existsSync(main) || statSync(main).mtimeMs < sources) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  process.stderr.write('building …\n');
  const built = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

// Same process, so that a signal sent to npm's child reaches the broker itself.
process.argv.splice(1, 1, main, 'serve', '--all');
await import(main);
