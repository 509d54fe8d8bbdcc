import { RawAmqp } from '../../support/raw-amqp.js';
import { PROBES } from './probes/index.js';

/** Runs one probe on connections of its own. */
export async function runProbe(name: string, port: number): Promise<readonly string[]> {
  const probe = PROBES[name];
  if (probe === undefined) throw new Error(`no probe '${name}'`);
  const one = await RawAmqp.open(port);
  try {
    return await probe(one, { port, another: () => RawAmqp.open(port) });
  } finally {
    await one.close();
  }
}
