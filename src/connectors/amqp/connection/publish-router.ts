import type { Origin } from '../../../core/message.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import { requirePermission, requireTopic } from '../channel/operations/access.js';
import { encodeOrigin } from '../mapping/message-origin.js';
import type { PublishProperties } from '../mapping/publish-properties.js';
import { readPublishProperties } from '../mapping/publish-properties.js';
import type { Exchange, Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { PublishMethod } from '../wire/command-reader.js';
import type { Properties } from '../wire/properties.js';
import { decodeProperties } from '../wire/properties.js';
import { ReplyError } from '../wire/reply.js';

/** What is remembered of the last publish, because the next one is most often alike. */
interface LastRoute {
  readonly publish: PublishMethod;
  readonly version: number;
  readonly accessVersion: number;
  readonly queues: readonly Queue[];
}

interface PublishRouterHost {
  readonly vhost: Vhost;
  readonly identity: Identity;
  readonly access: AccessPolicy;
}

/** Reads publishes and finds the queues they reach; the reader gives alike publishes as the same objects. */
export class PublishRouter {
  readonly #host: PublishRouterHost;
  readonly #vhost: Vhost;
  #lastRoute: LastRoute | undefined;
  #lastProperties: Buffer | undefined;
  #lastRead: PublishProperties | undefined;
  #lastOrigin: Origin | undefined;
  #lastOriginOf: PublishMethod | undefined;

  constructor(host: PublishRouterHost) {
    this.#host = host;
    this.#vhost = host.vhost;
  }

  read(properties: Buffer): PublishProperties {
    if (this.#lastRead === undefined || this.#lastProperties !== properties) {
      this.#lastRead = readPublishProperties(properties);
      this.#lastProperties = properties;
      this.#lastOrigin = undefined;
    }
    return this.#lastRead;
  }

  origin(publish: PublishMethod, read: PublishProperties): Origin {
    if (read !== this.#lastRead) return encodeOrigin(publish.route, read.bytes, read.bccKeys);
    if (this.#lastOrigin === undefined || this.#lastOriginOf !== publish) {
      this.#lastOrigin = encodeOrigin(publish.route, read.bytes, read.bccKeys);
      this.#lastOriginOf = publish;
    }
    return this.#lastOrigin;
  }

  route(publish: PublishMethod, read: PublishProperties): readonly Queue[] {
    const vhost = this.#vhost;
    const last = this.#lastRoute;
    const plain = read.extraKeys.length === 0;
    const accessVersion = this.#host.access.version;
    if (
      plain &&
      last?.publish === publish &&
      last.version === vhost.version &&
      last.accessVersion === accessVersion
    ) {
      if (this.#host.access.asksAlways) this.#require(publish, last.queues);
      return last.queues;
    }
    const exchange = this.#exchange(publish);
    const { routingKey } = publish.args;
    const keys = plain ? [routingKey] : [routingKey, ...read.extraKeys];
    let usesProperties = false as boolean;
    const properties = (): Properties => {
      usesProperties = true;
      return decodeProperties(read.bytes);
    };
    const queues = vhost.route(exchange, keys, properties);
    if (exchange === undefined && this.#host.access.asksAlways) this.#require(publish, queues);
    this.#lastRoute =
      plain && !usesProperties ? { publish, version: vhost.version, accessVersion, queues } : undefined;
    return queues;
  }

  /** The exchange that is published to; through the default one, each queue itself. */
  #require({ args: { exchange } }: PublishMethod, queues: readonly Queue[]): void {
    if (exchange !== '') requirePermission(this.#host, 'write', 'exchange', exchange);
    else for (const queue of queues) requirePermission(this.#host, 'write', 'queue', queue.name);
  }

  #exchange(publish: PublishMethod): Exchange | undefined {
    const { exchange: name, immediate, routingKey } = publish.args;
    if (immediate) throw new ReplyError(540, 'immediate=true');
    const vhost = this.#vhost;
    const exchange = vhost.exchanges.get(name);
    if (exchange === undefined && name !== '')
      throw new ReplyError(404, `no exchange '${name}' in vhost '${vhost.name}'`);
    requirePermission(this.#host, 'write', 'exchange', name);
    if (exchange === undefined) return undefined;
    requireTopic(this.#host, 'write', exchange, routingKey);
    if (exchange.internal) {
      throw new ReplyError(403, `cannot publish to internal exchange '${name}' in vhost '${vhost.name}'`);
    }
    return exchange;
  }
}
