import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { journalNames } from '../../../src/journal/jetstream/index.js';

const TIMEOUT_MS = 2_000;
const names = journalNames('polymq', 0);

interface Listed {
  readonly writer: number;
  readonly known: readonly {
    readonly id: string;
    readonly position: number;
    readonly firstSeq: number;
    readonly lastSeq: number;
  }[];
}

/** What the replica on each server holds of the listed checkpoints, for the message of a failure: a server prefers its own replica. */
export async function replicasReport(
  servers: readonly { readonly name: string; readonly address: string }[],
): Promise<string> {
  const reports = servers.map(async ({ name, address }) => {
    try {
      return `--- ${name}'s replica: ${await replicaReport(address)}`;
    } catch (error) {
      return `--- ${name}'s replica: ${String(error)}`;
    }
  });
  return (await Promise.all(reports)).join('\n');
}

async function replicaReport(address: string): Promise<string> {
  const nc = await connect({ servers: address, timeout: TIMEOUT_MS, reconnect: false });
  try {
    const { streams, direct } = await jetstreamManager(nc, { timeout: TIMEOUT_MS, checkAPI: false });
    const { cluster, state } = await streams.info(names.checkpoints);
    const head = await direct.getMessage(names.checkpoints, { last_by_subj: names.head });
    const { writer, known } = JSON.parse(head?.string() ?? '{"writer":0,"known":[]}') as Listed;
    const lines = known.map(async ({ id, position, firstSeq, lastSeq }) => {
      const seqs = Array.from({ length: lastSeq - firstSeq + 1 }, (_, i) => firstSeq + i);
      const found = await Promise.all(seqs.map((seq) => direct.getMessage(names.checkpoints, { seq })));
      const held = found.map((message) => message?.subject.split('.').at(-1) ?? 'none');
      return `${id} at ${position}, ${firstSeq}-${lastSeq}: ${held.join(' ')}`;
    });
    return [
      `led by ${cluster?.leader ?? 'nobody'}, ${state.first_seq}-${state.last_seq}, head ${head?.seq ?? 0} of ${writer}`,
      ...(await Promise.all(lines)),
    ].join('\n    ');
  } finally {
    await nc.close();
  }
}
