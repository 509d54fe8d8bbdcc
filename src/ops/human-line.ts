const COLOURS: Readonly<Record<string, string>> = { debug: '2', info: '32', warn: '33', error: '31' };

/**
 * A JSON log line as a person reads it: time, level, who, what, then the fields; the stack of an error on lines of its own.
 * pino-pretty would do this too, but is thirty times the code for one fixed layout.
 */
export function humanLine(json: string, colours: boolean): string {
  let line: Record<string, unknown>;
  try {
    line = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { time, level, message, component, error, ...fields } = line;
  const paint = (text: string, code: string): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const clock = typeof time === 'string' ? time.slice(11, 23) : '';
  const word = typeof level === 'string' ? level : 'info';
  const who = typeof component === 'string' ? `${paint(`[${component}]`, '36')} ` : '';
  const what = typeof message === 'string' ? message : '';
  const rest = Object.entries(fields)
    // A group of fields reads best as its members.
    .flatMap(([name, value]) => (isGroup(value) ? Object.entries(value) : [[name, value] as const]))
    .map(([name, value]) => ` ${paint(`${name}=`, '2')}${shown(value)}`);
  const head = `${paint(clock, '2')} ${paint(word.toUpperCase().padEnd(5), COLOURS[word] ?? '0')} ${who}${what}${rest.join('')}`;
  return `${head}${errorLines(error)}\n`;
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) || value === '' ? JSON.stringify(value) : value;
  return JSON.stringify(value);
}

function errorLines(error: unknown): string {
  if (error === undefined) return '';
  if (typeof error !== 'object' || error === null) return ` error=${shown(error)}`;
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  const text =
    typeof stack === 'string' ? stack : typeof message === 'string' ? message : JSON.stringify(error);
  return `\n${text.replace(/^/gm, '  ')}`;
}
