import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository: the nearest folder above with a package.json. */
export const REPOSITORY = ((): string => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
})();

/** Where peers from the package registry are kept between runs; git ignores it. */
export const PEERS = join(REPOSITORY, '.cache', 'bench', 'peers');

export const RESULTS = join(REPOSITORY, 'bench', 'results');

/** A new folder on the repository's file system (a temporary one may be in memory). The caller removes it. */
export function workFolder(name: string): string {
  const parent = join(REPOSITORY, '.cache', 'bench', 'work');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, `${name}-`));
}

/** Path of a compiled module of the bench, beside this one. */
export function benchModule(path: string): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', path);
}

/** What the product's own start command gives Node.js (package.json, docs/operations.md). */
export const PRODUCT_FLAGS: readonly string[] = ['--max-semi-space-size=32'];
