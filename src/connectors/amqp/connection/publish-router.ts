import type { Origin } from '../../../core/message.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import { requirePublish, requireTopic } from '../channel/operations/access.js';
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
  readonly keys: readonly string[];
  readonly queues: readonly Queue[];
}

interface PublishRouterHost {
  readonly vhost: Vhost;
  readonly identity: Identity;
  readonly access: AccessPolicy;
}

/** The routing keys of a publish: its own, and those of its CC and BCC headers. */
export function keysOf({ args }: PublishMethod, { extraKeys }: PublishProperties): readonly string[] {
  return extraKeys.length === 0 ? [args.routingKey] : [args.routingKey, ...extraKeys];
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
      if (this.#host.access.asksAlways) requirePublish(this.#host, publish.args.exchange, last.keys);
      return last.queues;
    }
    const keys = keysOf(publish, read);
    const exchange = this.#exchange(publish, keys);
    let usesProperties = false as boolean;
    const properties = (): Properties => {
      usesProperties = true;
      return decodeProperties(read.bytes);
    };
    const queues = vhost.route(exchange, keys, properties);
    this.#lastRoute =
      plain && !usesProperties ? { publish, version: vhost.version, accessVersion, keys, queues } : undefined;
    return queues;
  }

  #exchange(publish: PublishMethod, keys: readonly string[]): Exchange | undefined {
    const { exchange: name, immediate, routingKey } = publish.args;
    if (immediate) throw new ReplyError(540, 'immediate=true');
    const vhost = this.#vhost;
    requirePublish(this.#host, name, keys);
    if (name === '') return undefined;
    const exchange = vhost.exchanges.get(name);
    if (exchange === undefined) throw new ReplyError(404, `no exchange '${name}' in vhost '${vhost.name}'`);
    requireTopic(this.#host, 'write', exchange, routingKey);
    if (exchange.internal) {
      throw new ReplyError(403, `cannot publish to internal exchange '${name}' in vhost '${vhost.name}'`);
    }
    return exchange;
  }
}
