import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../base/clock.js';
import { SystemIds } from '../../base/ids.js';
import { silentLog, type LogFields } from '../../base/log.js';
import { NO_IDENTITY } from '../../connectors/kit/identity.js';
import { OpenGate } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import { readiness, type Phase } from '../health.js';
import { createApiServer, type ApiServer } from './server.js';

interface State {
  readonly phase?: Phase;
  readonly shortage?: string;
  readonly render?: () => string;
}

const opened: ApiServer[] = [];
const logged: LogFields[] = [];
afterEach(async () => {
  logged.splice(0);
  for (const api of opened.splice(0)) await api.stop();
});

/** Gives the way to ask it. */
async function start(state: State = {}): Promise<(path: string, request?: RequestInit) => Promise<Response>> {
  const part: Partial<Broker> = { aliases: () => [] };
  const api = createApiServer({
    host: '127.0.0.1',
    port: 0,
    gate: new OpenGate(part as Broker),
    identity: NO_IDENTITY,
    tls: undefined,
    clock: new SystemClock(),
    ids: new SystemIds(),
    metrics: { contentType: 'text/plain', render: state.render ?? (() => 'polymq_x 1\n') },
    readiness: () => readiness(state.phase ?? 'serving', state.shortage),
    addresses: () => [{ name: 'aws', host: '127.0.0.1', port: 4566 }],
    log: { ...silentLog, error: (_message, fields) => void logged.push(fields ?? {}) },
    version: '1.2.3',
  });
  const { port } = await api.start();
  opened.push(api);
  return (path, request) => fetch(`http://127.0.0.1:${port}${path}`, request);
}

describe('the port of the API', () => {
  it('tells that the broker is healthy', async () => {
    const answer = await (await start())('/health?from=a-probe');
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'healthy', version: '1.2.3' }]);
  });

  it('tells that it is ready while it serves with space', async () => {
    const answer = await (await start())('/ready');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      ready: true,
      reasons: [],
      addresses: [{ name: 'aws', port: 4566 }],
    });
  });

  it.each([
    [{ phase: 'starting' as const }, /starting/],
    [{ phase: 'draining' as const }, /draining/],
    [{ shortage: 'the disk is nearly full' }, /refused: the disk is nearly full/],
  ])('tells that it is not ready when %j', async (state, why) => {
    const answer = await (await start(state))('/ready');
    expect(answer.status).toBe(503);
    expect(((await answer.json()) as { reasons: string[] }).reasons.join()).toMatch(why);
  });

  it('gives the metrics', async () => {
    const answer = await (await start())('/metrics');
    expect(await answer.text()).toBe('polymq_x 1\n');
    expect(answer.headers.get('content-type')).toMatch(/text\/plain/);
  });

  it('keeps the inside of a failure inside, and logs it', async () => {
    const ask = await start({
      render: () => {
        throw new Error('/secret/path');
      },
    });
    const answer = await ask('/metrics');
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('/secret/path');
    expect(logged.map(({ error }) => String(error))).toEqual(['Error: /secret/path']);
  });

  it('answers HEAD without a body', async () => {
    const answer = await (await start())('/health', { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  it('leaves the rest to the admin API, from the first request on', async () => {
    const ask = await start();
    const answers = await Promise.all([
      ask('/api/v1/aliases'),
      ask('/api/v1/aliases'),
      ask('/health', { method: 'POST' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    expect(await answers[0].json()).toEqual({ aliases: [] });
  });
});
