import { describe, expect, it } from 'vitest';
import { createLog } from './logging.js';

function logged(
  format: 'auto' | 'json' | 'pretty',
  terminal: boolean,
): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  const log = createLog(
    { level: 'info', format },
    { write: (line) => lines.push(line), terminal, colours: false },
  );
  return { lines, log };
}

describe('the log', () => {
  it('writes one JSON object a line where nobody watches', () => {
    const { lines, log } = logged('auto', false);
    log.child({ component: 'aws' }).info('ready', { port: 4566 });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'info',
      component: 'aws',
      message: 'ready',
      port: 4566,
    });
    expect(lines[0]).toMatch(/"time":"\d{4}-\d\d-\d\dT/);
    expect(lines[0]!.endsWith('\n')).toBe(true);
  });

  it('writes for people on a terminal', () => {
    const { lines, log } = logged('auto', true);
    log.child({ component: 'aws' }).warn('slow peer', { peer: '127.0.0.1:1', waitedMs: 5, why: 'no credit' });
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}\[aws\] slow peer peer=127\.0\.0\.1:1 waitedMs=5 why="no credit"\n$/,
    );
  });

  it('shows the stack of an error below the line', () => {
    const { lines, log } = logged('pretty', false);
    log.error('broken', { error: new Error('why') });
    expect(lines[0]).toMatch(/ERROR broken\n {2}Error: why\n +at /);
  });

  it('keeps the cause of an error in JSON', () => {
    const { lines, log } = logged('json', true);
    log.error('broken', { error: new Error('why') });
    expect(JSON.parse(lines[0]!)).toMatchObject({ error: { type: 'Error', message: 'why' } });
  });

  it('hides secrets, one level down too', () => {
    const { lines, log } = logged('json', false);
    log.info('login', { password: 'hunter2', client: { token: 'hunter2' } });
    expect(lines.join()).not.toContain('hunter2');
  });

  it('leaves out lines below the level', () => {
    const { lines, log } = logged('json', false);
    log.debug('detail');
    expect(lines).toEqual([]);
  });
});
