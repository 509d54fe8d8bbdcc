import { readFileSync } from 'node:fs';

/** The package's version. The file lies two folders up from here, in `src` and in `dist`. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
