/** Who a connection is. */
export interface Identity {
  readonly user: string;
  /** RabbitMQ's user tags, e.g. `administrator`. */
  readonly tags: readonly string[];
}

/** What a client showed at its login. */
export type Credentials =
  | { readonly mechanism: 'PLAIN' | 'AMQPLAIN'; readonly user: string; readonly password: string }
  /** The name in a client certificate that TLS has verified. */
  | { readonly mechanism: 'EXTERNAL'; readonly user: string };

export type Permission = 'configure' | 'write' | 'read';

/** A routing key of a topic exchange. */
export interface Topic {
  readonly exchange: string;
  readonly routingKey: string;
}

/** What the default exchange is called where it needs a name. */
export const DEFAULT_EXCHANGE = 'amq.default';

/** Decides who may come in and what they may do there. */
export interface AccessPolicy {
  /** False: nobody is checked, everybody is who they say and may do everything. */
  readonly enforced: boolean;
  /** Goes up when anything was allowed or taken away. */
  readonly version: number;
  /** True: `version` does not tell everything, so every publish is asked for. */
  readonly asksAlways: boolean;
  /** Who this is, or undefined when the login is refused. */
  login(credentials: Credentials): Identity | undefined | Promise<Identity | undefined>;
  /** Whether the user goes on with a new secret (connection.update-secret). */
  refresh(identity: Identity, secret: string): boolean | Promise<boolean>;
  /** Calls `over` when the login with this secret (undefined: none was shown) is good no longer. Gives the way to forget it. */
  watch(identity: Identity, secret: string | undefined, over: (reason: string) => void): () => void;
  mayOpen(identity: Identity, vhost: string): boolean;
  /** `resource`: name of a queue or exchange; the default exchange is `amq.default`. */
  allows(identity: Identity, vhost: string, permission: Permission, resource: string): boolean;
  /** The tags that open the management API to the user: their own, or those that the broker's rules stand for. */
  managementTags(identity: Identity): readonly string[];
  /** Whether the broker's rules let the user write to a queue that is not known yet. */
  allowsAnyQueue(identity: Identity, vhost: string): boolean;
  /** Whether the broker's rules let the user know of the queue or exchange. RabbitMQ's permissions do not hide anything. */
  sees(identity: Identity, vhost: string, resource: string): boolean;
  /** Calls `over` once, when the user may no longer read the queue: its consumer is over. Gives the way to forget it. */
  whileReadable(identity: Identity, vhost: string, queue: string, over: () => void): () => void;
  /** What `allows` says of the topic exchange, said of a routing key: publishing to it, and binding to it. */
  allowsTopic(identity: Identity, vhost: string, permission: 'write' | 'read', topic: Topic): boolean;
}

/** Allows everything, for work that was allowed as a whole. */
export const FREE_ACCESS: AccessPolicy = {
  enforced: false,
  version: 0,
  asksAlways: false,
  login: ({ user }) => ({ user, tags: [] }),
  refresh: () => true,
  watch: () => () => undefined,
  mayOpen: () => true,
  allows: () => true,
  managementTags: ({ tags }) => tags,
  sees: () => true,
  allowsAnyQueue: () => true,
  whileReadable: () => () => undefined,
  allowsTopic: () => true,
};
