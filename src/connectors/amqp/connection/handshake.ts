import type { AccessPolicy, Identity } from '../access/access-policy.js';
import type { Limits } from '../access/limits.js';
import type { AmqpConfig } from '../config.js';
import type { ClientCapabilities } from '../channel/host.js';
import type { Topology } from '../topology/topology.js';
import type { Vhost } from '../topology/vhost.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { stringField } from '../wire/field-table.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import { FRAME_MIN_SIZE } from '../wire/frames.js';
import type { Method, MethodArgs } from '../wire/methods.js';
import { ReplyError } from '../wire/reply.js';
import { mechanismsFor, readCredentials, refusedLogin } from './sasl.js';

export interface HandshakeContext {
  readonly config: AmqpConfig;
  /** Version of this product. */
  readonly version: string;
  readonly topology: Topology;
  readonly access: AccessPolicy;
  readonly limits: Limits;
  /** Whom TLS has verified the peer to be. */
  readonly certificateName: string | undefined;
  readonly writer: FrameWriter;
  /** The peer may use frames of this size from now on. */
  readonly onTuned: (frameMax: number, heartbeatSeconds: number) => void;
  /** A login that took its time was answered, or failed with this. */
  readonly onLoginEnded: (failure: unknown) => void;
}

/** What a finished handshake has settled. */
export interface Session {
  readonly vhost: Vhost;
  readonly identity: Identity;
  readonly capabilities: ClientCapabilities;
  readonly clientProperties: FieldTable;
  /** What was shown at the login; undefined for EXTERNAL. */
  readonly secret: string | undefined;
  readonly mechanism: string;
  readonly channelMax: number;
}

const CAPABILITIES: readonly string[] = [
  'publisher_confirms',
  'exchange_exchange_bindings',
  'basic.nack',
  'consumer_cancel_notify',
  'connection.blocked',
  'consumer_priorities',
  'authentication_failure_close',
  'per_consumer_qos',
  'direct_reply_to',
];

/** The dialogue from connection.start to connection.open. Each step is refused out of its turn (504). */
export class Handshake {
  readonly #context: HandshakeContext;
  #expected: 'connection.start-ok' | 'connection.tune-ok' | 'connection.open' | 'nothing' =
    'connection.start-ok';
  #identity: Identity = { user: '', tags: [] };
  #clientProperties: FieldTable = new Map();
  #mechanism = '';
  #secret: string | undefined;
  #capabilities: ClientCapabilities = {
    consumerCancelNotify: false,
    connectionBlocked: false,
    authenticationFailureClose: false,
  };
  #channelMax = 0;

  constructor(context: HandshakeContext) {
    this.#context = context;
  }

  get capabilities(): ClientCapabilities {
    return this.#capabilities;
  }

  begin(): void {
    this.#context.writer.method(0, 'connection.start', {
      versionMajor: 0,
      versionMinor: 9,
      serverProperties: this.#serverProperties(),
      mechanisms: Buffer.from(mechanismsFor(this.#context.certificateName)),
      locales: Buffer.from('en_US'),
    });
  }

  /** Takes the client's next step; gives the session when it was the last one. */
  step(method: Method): Session | undefined {
    if (method.name !== this.#expected) {
      throw new ReplyError(504, `unexpected method ${method.name} during the handshake`);
    }
    switch (method.name) {
      case 'connection.start-ok':
        this.#onStartOk(method.args);
        return undefined;
      case 'connection.tune-ok':
        this.#onTuneOk(method.args);
        return undefined;
      case 'connection.open':
        return this.#onOpen(method.args);
      default:
        return undefined;
    }
  }

  #onStartOk(args: MethodArgs<'connection.start-ok'>): void {
    this.#capabilities = capabilitiesOf(args.clientProperties);
    this.#clientProperties = args.clientProperties;
    this.#mechanism = args.mechanism;
    const { access, certificateName, onLoginEnded } = this.#context;
    const credentials = readCredentials(args.mechanism, args.response, certificateName);
    this.#secret = credentials.mechanism === 'EXTERNAL' ? undefined : credentials.password;
    const login = access.login(credentials);
    if (!(login instanceof Promise)) {
      this.#onLogin(login);
      return;
    }
    this.#expected = 'nothing';
    login
      .then((identity) => this.#onLogin(identity))
      .then(
        () => onLoginEnded(undefined),
        (caught: unknown) => onLoginEnded(caught),
      );
  }

  #onLogin(identity: Identity | undefined): void {
    if (identity === undefined) throw refusedLogin(this.#mechanism);
    this.#identity = identity;
    const { config, writer } = this.#context;
    const { channelMax, maxFrameSize, heartbeatSeconds } = config;
    writer.method(0, 'connection.tune', { channelMax, frameMax: maxFrameSize, heartbeat: heartbeatSeconds });
    this.#expected = 'connection.tune-ok';
  }

  #onTuneOk(args: MethodArgs<'connection.tune-ok'>): void {
    const { channelMax, maxFrameSize } = this.#context.config;
    refuseOutside('channel_max', args.channelMax, 1, channelMax);
    refuseOutside('frame_max', args.frameMax, FRAME_MIN_SIZE, maxFrameSize);
    this.#channelMax = args.channelMax;
    this.#expected = 'connection.open';
    this.#context.onTuned(args.frameMax, args.heartbeat);
  }

  #onOpen(args: MethodArgs<'connection.open'>): Session {
    const { access, limits, topology, writer } = this.#context;
    const vhost = topology.openVhost(args.virtualHost);
    const { user } = this.#identity;
    if (!access.mayOpen(this.#identity, vhost.name)) {
      throw new ReplyError(530, `access to vhost '${vhost.name}' refused for user '${user}'`);
    }
    limits.requireConnection(vhost.name, user);
    writer.method(0, 'connection.open-ok', { reserved1: '' });
    return {
      vhost,
      identity: this.#identity,
      capabilities: this.#capabilities,
      clientProperties: this.#clientProperties,
      secret: this.#secret,
      mechanism: this.#mechanism,
      channelMax: this.#channelMax,
    };
  }

  /**
   * Clients choose features by product and version (kombu, Spring and others compare both), so these two name the dialect
   * that is spoken; `platform` says who speaks it.
   */
  #serverProperties(): FieldTable {
    const { config, version } = this.#context;
    const on: FieldValue = { tag: 't', value: true };
    return new Map<string, FieldValue>([
      ['capabilities', { tag: 'F', value: new Map(CAPABILITIES.map((name) => [name, on])) }],
      ['cluster_name', stringField('polymq')],
      ['copyright', stringField('Apache-2.0')],
      ['information', stringField(`AMQP 0-9-1 in the RabbitMQ ${config.serverVersion} dialect`)],
      ['platform', stringField(`Polymq ${version}`)],
      ['product', stringField('RabbitMQ')],
      ['version', stringField(config.serverVersion)],
    ]);
  }
}

function capabilitiesOf(properties: FieldTable): ClientCapabilities {
  const field = properties.get('capabilities');
  const table: FieldTable = field?.tag === 'F' ? field.value : new Map<string, FieldValue>();
  const has = (name: string): boolean => table.get(name)?.value === true;
  return {
    consumerCancelNotify: has('consumer_cancel_notify'),
    connectionBlocked: has('connection.blocked'),
    authenticationFailureClose: has('authentication_failure_close'),
  };
}

function refuseOutside(name: string, value: number, min: number, max: number): void {
  if (value >= min && value <= max) return;
  const how =
    value < min
      ? `lower than the minimum allowed value (${min})`
      : `higher than the maximum allowed value (${max})`;
  throw new ReplyError(530, `negotiated ${name} = ${value} is ${how}`);
}
