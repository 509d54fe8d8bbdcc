import type { CoreContext } from '../core-context.js';
import { channelNameFault } from '../channel-name.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { EventLog } from '../log/event-log.js';
import type { LogService } from '../log/log-service.js';
import type { LogSettings } from '../log/types.js';
import { DEFAULT_LOG_SETTINGS } from '../log/types.js';
import { EntryWriter } from '../partition/entry-writer.js';
import { ChannelKind, RecordType, writeOpenChannel } from '../partition/records.js';
import type { Family } from '../queue/family.js';
import type { QueueService } from '../queue/queue-service.js';
import type { QueueSettings } from '../queue/types.js';
import { DEFAULT_QUEUE_SETTINGS } from '../queue/types.js';
import type { RegistryStore } from './registry-store.js';
import type { Change } from './types.js';

/** Bytes of one registry value, as JSON. */
export const REGISTRY_VALUE_BYTES_MAX = 1024 * 1024;

/** A checked change: its record, what it does once durable, and what it undoes when it never is. */
interface Step {
  readonly write?: (w: EntryWriter) => void;
  readonly apply?: () => void;
  readonly lose?: () => void;
  readonly version: number;
  readonly notify?: { readonly kind: string; readonly key: string };
}

/** Whether a change makes something that stays. */
function isAddition({ do: kind }: Change): boolean {
  return kind === 'put' || kind === 'create-queue' || kind === 'create-log' || kind === 'set-alias';
}

interface Parts {
  readonly queues: QueueService;
  readonly logs: LogService;
  readonly registry: RegistryStore;
}

/**
 * Applies batches of changes, one batch at a time: each is checked against what the one before it left, written as one entry,
 * and takes effect when that is durable. Queues and logs come into being when their batch is written, so that messages may
 * follow at once.
 */
export class Changes {
  readonly #core: CoreContext;
  readonly #parts: Parts;
  #last: Promise<unknown> = Promise.resolve();
  /** Batches written and not yet durable. */
  pending = 0;

  constructor(core: CoreContext, parts: Parts) {
    this.#core = core;
    this.#parts = parts;
  }

  change(changes: readonly Change[]): Promise<readonly number[]> {
    this.#parts.queues.admission.checkChange(changes.some(isAddition));
    // Those that wait for their turn are in no entry yet.
    const release = this.#core.pipeline.setAside(JSON.stringify(changes).length);
    const done = this.#last.then(() => this.#run(changes));
    this.#last = done.then(release, release);
    return done;
  }

  #run(changes: readonly Change[]): Promise<readonly number[]> {
    if (this.#parts.queues.admission.draining)
      throw new BrokerError('draining', 'the broker is shutting down');
    // All checks come first: a refused batch leaves nothing behind, not even a queue.
    for (const change of changes) this.#check(change);
    const steps = this.#steps(changes);
    const versions = steps.map((step) => step.version);
    const { pipeline } = this.#core;
    pipeline.flushSide();
    const { main } = pipeline;
    main.begin(1024);
    for (const step of steps) step.write?.(main);
    return new Promise((resolve, reject) => {
      this.pending++;
      const operation = {
        position: -1,
        commit: () => {
          this.pending--;
          for (const step of steps) step.apply?.();
          for (const step of steps) {
            if (step.notify !== undefined) this.#notify(step.notify.kind, step.notify.key);
          }
          resolve(versions);
        },
        lose: (error: BrokerError) => {
          this.pending--;
          for (const step of steps) step.lose?.();
          reject(error);
        },
      };
      if (main.offset > 0) {
        pipeline.append(main, true, operation);
        return;
      }
      // Nothing to write, as when all of it lives in memory only: done as soon as what came before it is.
      main.abandon();
      pipeline.afterPending(operation);
    });
  }

  /** What each change comes to. One that cannot be made takes back those before it. */
  #steps(changes: readonly Change[]): Step[] {
    const steps: Step[] = [];
    try {
      for (const change of changes) steps.push(this.#step(change));
    } catch (caught) {
      for (const step of steps.reverse()) step.lose?.();
      throw BrokerError.from(caught);
    }
    return steps;
  }

  #notify(kind: string, key: string): void {
    this.#parts.registry.notify(kind, key, (caught) => {
      this.#core.log.error('a registry watcher failed', { kind, key, error: String(caught) });
    });
  }

  #check(change: Change): void {
    switch (change.do) {
      case 'put':
      case 'remove': {
        const version = this.#parts.registry.get(change.kind, change.key)?.version ?? 0;
        if (change.expected !== undefined && change.expected !== version) {
          const kind =
            change.expected === 0 ? 'already-exists' : version === 0 ? 'not-found' : 'precondition';
          throw new BrokerError(kind, `${change.kind} '${change.key}' is at version ${String(version)}`);
        }
        return;
      }
      case 'create-queue':
        this.#checkNew(
          change.channel,
          change.ifMissing === true,
          this.#parts.queues.channels.find(change.channel),
        );
        return;
      case 'create-log':
        this.#checkNew(change.channel, change.ifMissing === true, this.#parts.logs.find(change.channel));
        return;
      case 'update-queue':
        this.#family(change.channel);
        return;
      case 'update-log':
        this.#log(change.channel);
        return;
      case 'set-alias':
        this.#checkAlias(change.alias, change.channel);
        return;
      case 'delete-queue':
      case 'delete-log':
      case 'remove-alias':
    }
  }

  #checkNew(name: ChannelName, ifMissing: boolean, found: unknown): void {
    const fault = channelNameFault(name);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    if (found !== undefined && !ifMissing) throw new BrokerError('already-exists', `'${name}' exists`);
  }

  #checkAlias(alias: ChannelName, channel: ChannelName): void {
    const fault = channelNameFault(alias) ?? channelNameFault(channel);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    const { byName, familyOf } = {
      byName: this.#core.queues.byName,
      familyOf: this.#core.queues.directory.familyOf(alias),
    };
    if (byName.has(alias) || this.#parts.logs.byName.has(alias) || familyOf !== undefined) {
      throw new BrokerError('precondition', `'${alias}' is a channel of its own`);
    }
    if (alias === channel || this.#parts.queues.channels.aliases.has(channel)) {
      throw new BrokerError('invalid-argument', `'${channel}' is an alias itself`);
    }
    for (const target of this.#parts.queues.channels.aliases.values()) {
      if (target === alias) throw new BrokerError('invalid-argument', `'${alias}' has aliases of its own`);
    }
  }

  #family(name: ChannelName): Family {
    const queue = this.#parts.queues.channels.find(name);
    if (queue === undefined || queue.isSubChannel) throw new BrokerError('not-found', `no queue '${name}'`);
    return queue.family;
  }

  #log(name: ChannelName): EventLog {
    const log = this.#parts.logs.find(name);
    if (log === undefined) throw new BrokerError('not-found', `no log '${name}'`);
    return log;
  }

  #step(change: Change): Step {
    switch (change.do) {
      case 'put':
        return this.#put(change);
      case 'remove':
        return this.#remove(change);
      case 'create-queue':
        return this.#createQueue(change.channel, { ...DEFAULT_QUEUE_SETTINGS, ...change.settings });
      case 'update-queue':
        return this.#updateQueue(this.#family(change.channel), change.settings);
      case 'delete-queue':
        return this.#deleteQueue(change.channel);
      case 'create-log':
        return this.#createLog(change.channel, { ...DEFAULT_LOG_SETTINGS, ...change.settings });
      case 'update-log':
        return this.#updateLog(this.#log(change.channel), change.settings);
      case 'delete-log':
        return this.#deleteLog(change.channel);
      case 'set-alias':
        return this.#setAlias(change.alias, change.channel);
      case 'remove-alias':
        return this.#removeAlias(change.alias);
    }
  }

  #put(change: Change & { do: 'put' }): Step {
    const { kind, key } = change;
    const json = JSON.stringify(change.value);
    if (json.length > REGISTRY_VALUE_BYTES_MAX)
      throw new BrokerError('limit', `${kind} '${key}' is too large`);
    const version = (this.#parts.registry.get(kind, key)?.version ?? 0) + 1;
    return {
      version,
      notify: { kind, key },
      write: (w) => {
        w.u8(RecordType.registryPut);
        w.text(kind);
        w.text(key);
        w.varint(version);
        w.text(json);
      },
      // A copy: what the caller does to its value later is not a change.
      apply: () => {
        this.#parts.registry.put({ kind, key, version, value: JSON.parse(json) }, json.length);
      },
    };
  }

  #remove(change: Change & { do: 'remove' }): Step {
    const { kind, key } = change;
    return {
      version: 0,
      notify: { kind, key },
      write: (w) => {
        w.u8(RecordType.registryRemove);
        w.text(kind);
        w.text(key);
      },
      apply: () => {
        this.#parts.registry.remove(kind, key);
      },
    };
  }

  #createQueue(name: ChannelName, settings: QueueSettings): Step {
    const { channels } = this.#parts.queues;
    if (channels.find(name) !== undefined) return { version: 0 };
    const queue = channels.create(channels.resolve(name), settings);
    return {
      version: 0,
      write: (w) => {
        if (!settings.durable) return;
        const open = { id: queue.id, kind: ChannelKind.queue, name: queue.name, baseId: 0 };
        writeOpenChannel(w, { ...open, settings: JSON.stringify(settings) });
      },
      lose: () => {
        if (queue.deleted) return;
        const { family } = queue;
        if (family.ready + family.delayed.count + family.inFlight.size === 0) {
          this.#parts.queues.drop(family);
          return;
        }
        // Messages were moved here meanwhile: it stays for them.
        const w = new EntryWriter(0);
        w.begin(256);
        const open = { id: queue.id, kind: ChannelKind.queue, name: queue.name, baseId: 0 };
        writeOpenChannel(w, { ...open, settings: JSON.stringify(settings) });
        this.#core.pipeline.writeAgain(w.take());
      },
    };
  }

  #createLog(name: ChannelName, settings: LogSettings): Step {
    const { logs, queues } = this.#parts;
    if (logs.find(name) !== undefined) return { version: 0 };
    const log = logs.create(queues.channels.resolve(name), settings);
    return {
      version: 0,
      write: (w) => {
        const open = { id: log.id, kind: ChannelKind.log, name: log.name, baseId: 0 };
        writeOpenChannel(w, { ...open, settings: JSON.stringify(settings) });
      },
      lose: () => {
        if (!log.deleted) logs.drop(log);
      },
    };
  }

  #updateQueue(family: Family, partial: Partial<QueueSettings>): Step {
    const settings = { ...family.settings, ...partial, durable: family.settings.durable };
    const json = JSON.stringify(settings);
    return {
      version: 0,
      write: (w) => {
        if (!settings.durable) return;
        w.u8(RecordType.channelSettings);
        w.u32(family.base.id);
        w.text(json);
      },
      apply: () => {
        if (!family.base.deleted) this.#parts.queues.update(family, settings);
      },
    };
  }

  #deleteQueue(name: ChannelName): Step {
    const queue = this.#parts.queues.channels.find(name);
    if (queue === undefined || queue.isSubChannel) return { version: 0 };
    const { family } = queue;
    return {
      version: 0,
      write: (w) => {
        if (!family.settings.durable) return;
        w.u8(RecordType.deleteChannel);
        w.u32(queue.id);
      },
      apply: () => {
        if (!queue.deleted) this.#parts.queues.drop(family);
      },
    };
  }

  #updateLog(log: EventLog, partial: Partial<EventLog['settings']>): Step {
    const settings = { ...log.settings, ...partial };
    return {
      version: 0,
      write: (w) => {
        w.u8(RecordType.channelSettings);
        w.u32(log.id);
        w.text(JSON.stringify(settings));
      },
      apply: () => {
        log.settings = settings;
        if (!log.deleted) this.#parts.logs.retain(log);
      },
    };
  }

  #deleteLog(name: ChannelName): Step {
    const log = this.#parts.logs.find(name);
    if (log === undefined) return { version: 0 };
    return {
      version: 0,
      write: (w) => {
        w.u8(RecordType.deleteChannel);
        w.u32(log.id);
      },
      apply: () => {
        if (!log.deleted) this.#parts.logs.drop(log);
      },
    };
  }

  #setAlias(alias: ChannelName, channel: ChannelName): Step {
    return {
      version: 0,
      write: (w) => {
        w.u8(RecordType.aliasSet);
        w.text(alias);
        w.text(channel);
      },
      apply: () => void this.#parts.queues.channels.aliases.set(alias, channel),
    };
  }

  #removeAlias(alias: ChannelName): Step {
    return {
      version: 0,
      write: (w) => {
        w.u8(RecordType.aliasRemove);
        w.text(alias);
      },
      apply: () => void this.#parts.queues.channels.aliases.delete(alias),
    };
  }
}
