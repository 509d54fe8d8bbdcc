import { RawAmqp } from '../../support/raw-amqp.js';
import { PROBES } from './probes/index.js';

/** Where a broker is: its port, and that of its management API. */
export interface ProbeTarget {
  readonly port: number;
  readonly managementPort: number;
}

/** Runs one probe on connections of its own. */
export async function runProbe(
  name: string,
  { port, managementPort }: ProbeTarget,
): Promise<readonly string[]> {
  const probe = PROBES[name];
  if (probe === undefined) throw new Error(`no probe '${name}'`);
  const manage = async (method: string, path: string, input: unknown = {}): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${String(managementPort)}/api/${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(method !== 'GET' && { body: JSON.stringify(input) }),
    });
    await answer.arrayBuffer();
    return `HTTP ${String(answer.status)}`;
  };
  const one = await RawAmqp.open(port);
  try {
    return await probe(one, { port, another: (options) => RawAmqp.open(port, options), manage });
  } finally {
    await one.close();
  }
}
