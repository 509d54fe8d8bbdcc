import type { Clock } from '../../../base/clock.js';
import type { Broker } from '../../../core/broker-api.js';
import type { Change } from '../../../core/registry/types.js';
import { forgetPolicy } from '../iam/policies.js';
import { missingResource, parseResourceName } from '../resource-names.js';
import {
  SNAPSHOT_KIND,
  SNAPSHOT_PART_KIND,
  snapshotInfo,
  type SnapshotInfo,
  type SnapshotRecord,
} from './records.js';
import { decodeRuns, encodeRuns } from './unacked.js';

interface PartRecord {
  readonly text: string;
}

/** The snapshots of the registry. One that has expired is not there any more, whenever it is swept away. */
export class Snapshots {
  readonly #broker: Broker;
  readonly #clock: Clock;

  constructor(broker: Broker, clock: Clock) {
    this.#broker = broker;
    this.#clock = clock;
  }

  /** All that live, by id. */
  list(): readonly SnapshotInfo[] {
    const now = this.#clock.now();
    return this.#all().filter((info) => expiresAt(info) > now);
  }

  #all(): readonly SnapshotInfo[] {
    return this.#broker.registry.list(SNAPSHOT_KIND).map(snapshotInfo);
  }

  get count(): number {
    return this.list().length;
  }

  find(id: string): SnapshotInfo | undefined {
    const entry = this.#broker.registry.get(SNAPSHOT_KIND, id);
    const info = entry === undefined ? undefined : snapshotInfo(entry);
    return info !== undefined && expiresAt(info) > this.#clock.now() ? info : undefined;
  }

  /** The snapshot a full name stands for; throws `invalid-argument` or `not-found`. */
  require(name: string): SnapshotInfo {
    const { id } = parseResourceName(name, 'snapshots');
    const info = this.find(id);
    if (info === undefined) throw missingResource(name, 'snapshots', id);
    return info;
  }

  /** The sequences up to `upTo` that were unacknowledged, in runs. */
  unackedOf({ id, record }: SnapshotInfo): readonly number[] {
    let text = record.unacked;
    for (let part = 1; part <= record.parts; part++) {
      const entry = this.#broker.registry.get<PartRecord>(SNAPSHOT_PART_KIND, partKey(id, part));
      if (entry === undefined) throw new Error(`part ${part} of snapshot '${id}' is missing`);
      text += entry.value.text;
    }
    return decodeRuns(text);
  }

  /** What stores a new snapshot in place of an expired one of its name. */
  creation(
    id: string,
    runs: readonly number[],
    record: Omit<SnapshotRecord, 'unacked' | 'parts'>,
  ): readonly Change[] {
    const [unacked = '', ...parts] = encodeRuns(runs);
    const value: SnapshotRecord = { ...record, unacked, parts: parts.length };
    const before = this.#broker.registry.get<SnapshotRecord>(SNAPSHOT_KIND, id);
    return [
      ...(before === undefined ? [] : this.#removal(id, before.value.parts)),
      { do: 'put', kind: SNAPSHOT_KIND, key: id, value, expected: before?.version ?? 0 },
      ...parts.map((text, i): Change => {
        const part: PartRecord = { text };
        return { do: 'put', kind: SNAPSHOT_PART_KIND, key: partKey(id, i + 1), value: part };
      }),
    ];
  }

  /** What removes a snapshot, with all that belongs to it. */
  deletion({ id, version, record }: SnapshotInfo): readonly Change[] {
    return [
      { do: 'remove', kind: SNAPSHOT_KIND, key: id, expected: version },
      ...this.#removal(id, record.parts),
    ];
  }

  #removal(id: string, parts: number): Change[] {
    const changes = forgetPolicy(this.#broker, 'snapshots', id);
    for (let part = 1; part <= parts; part++) {
      changes.push({ do: 'remove', kind: SNAPSHOT_PART_KIND, key: partKey(id, part) });
    }
    return changes;
  }

  /** Removes those that have expired. */
  async sweep(): Promise<void> {
    const now = this.#clock.now();
    for (const info of this.#all()) {
      if (expiresAt(info) <= now) await this.#broker.change(this.deletion(info));
    }
  }
}

function partKey(id: string, part: number): string {
  return `${id}/${part}`;
}

/** Unix ms. */
function expiresAt({ resource }: SnapshotInfo): number {
  const { expireTime } = resource;
  return expireTime === undefined ? Infinity : Number(expireTime.seconds) * 1000 + expireTime.nanos / 1e6;
}
