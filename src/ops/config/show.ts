import { stringify } from 'yaml';
import { withoutPasswords, type Setting } from './setting.js';
import type { SourceName } from './source.js';

/** The effective configuration as a YAML file that would give it, each line with where it came from. Secrets are hidden. */
export function showConfig(
  settings: readonly Setting[],
  config: unknown,
  origins: ReadonlyMap<string, SourceName>,
): string {
  const lines: string[] = [];
  let open: readonly string[] = [];
  for (const setting of settings) {
    const above = setting.path.slice(0, -1);
    above.forEach((name, depth) => {
      if (open.slice(0, depth + 1).join('.') !== above.slice(0, depth + 1).join('.')) {
        lines.push(`${'  '.repeat(depth)}${name}:`);
      }
    });
    open = above;
    const value = setting.path.reduce<unknown>(
      (at, name) => (at as Record<string, unknown> | undefined)?.[name],
      config,
    );
    const text = setting.secret && !isEmpty(value) ? '"********"' : withoutPasswords(flow(value));
    const origin = origins.get(setting.key) ?? 'default';
    lines.push(
      `${'  '.repeat(above.length)}${setting.path.at(-1) ?? ''}: ${text}${origin === 'default' ? '' : `  # ${origin}`}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function flow(value: unknown): string {
  return value === undefined
    ? ''
    : stringify(value, {
        collectionStyle: 'flow',
        lineWidth: 0,
        defaultStringType: 'QUOTE_DOUBLE',
        defaultKeyType: 'PLAIN',
      }).trim();
}
