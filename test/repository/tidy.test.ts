import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/app/settings.js';

const root = join(import.meta.dirname, '../..');

/** Files under version control, or about to be. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

describe('the repository', () => {
  const pages = files.filter((file) => file.endsWith('.md'));

  it.each(pages)('%s links to files that are there', (page) => {
    const links = [...read(page).matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)].map((match) => match[1] ?? '');
    const broken = links
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => !existsSync(join(root, dirname(page), decodeURIComponent(link))));
    expect(broken).toEqual([]);
  });

  it('holds no path of one machine and nothing left to do', () => {
    const self = relative(root, import.meta.filename);
    const texts = files.filter((file) => /\.(ts|js|cjs|md|json|ya?ml|py|sh)$/.test(file) && file !== self);
    const found = texts.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) =>
          /\/(root|home|work)\/|\b(TODO|FIXME|XXX|HACK)\b/.test(line) ? [`${file}:${index + 1}`] : [],
        ),
    );
    expect(found).toEqual([]);
  });

  it('has exact versions only', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const versions = Object.entries({ ...dependencies, ...devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('names the true default ports in the README', () => {
    const readme = read('README.md');
    for (const setting of SETTINGS.filter((one) => one.path.at(-1) === 'port')) {
      expect(readme, setting.environment).toContain(String(setting.defaultValue));
    }
  });
});
