import { readFileSync } from 'node:fs';
import {
  connect,
  credsAuthenticator,
  nkeyAuthenticator,
  type Authenticator,
  type NatsConnection,
} from '@nats-io/transport-node';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';

/** How the connection behaves; none of it depends on who uses it. */
export const NATS_CONNECTION_LIMITS = {
  /** How long one attempt to connect may take. */
  timeoutMs: 2_000,
  /** Pause between attempts. */
  reconnectMs: 200,
  /** A server that does not answer two pings in a row is left. */
  pingIntervalMs: 1_500,
  pingsUnanswered: 2,
} as const;

export interface NatsConnectionOptions {
  /** `host:port` or `nats://host:port`, `tls://host:port`; several servers of one cluster. */
  readonly servers: readonly string[];
  /** Shown by the server's monitoring. */
  readonly name: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** Path of a credentials file (JWT and seed). */
  readonly credentialsFile?: string | undefined;
  /** Path of a file with the seed of a user NKey. */
  readonly nkeyFile?: string | undefined;
  readonly tls?:
    | {
        readonly caFile?: string | undefined;
        readonly certFile?: string | undefined;
        readonly keyFile?: string | undefined;
      }
    | undefined;
  readonly log: Log;
}

/**
 * Connects to NATS and stays connected: after a loss it tries every server for as long as it takes. Rejects with
 * `precondition` when the first attempt fails, naming why.
 */
export async function connectNats(options: NatsConnectionOptions): Promise<NatsConnection> {
  const { servers, log, tls } = options;
  const defined = <T>(key: string, value: T | undefined): Record<string, T> =>
    value === undefined ? {} : { [key]: value };
  let nc: NatsConnection;
  try {
    nc = await connect({
      servers: [...servers],
      name: options.name,
      timeout: NATS_CONNECTION_LIMITS.timeoutMs,
      reconnectTimeWait: NATS_CONNECTION_LIMITS.reconnectMs,
      maxReconnectAttempts: -1,
      pingInterval: NATS_CONNECTION_LIMITS.pingIntervalMs,
      maxPingOut: NATS_CONNECTION_LIMITS.pingsUnanswered,
      ignoreAuthErrorAbort: true,
      ...defined('user', options.user),
      ...defined('pass', options.password),
      ...defined('token', options.token),
      ...defined('authenticator', authenticatorOf(options)),
      ...(tls === undefined
        ? {}
        : {
            tls: {
              ...defined('caFile', tls.caFile),
              ...defined('certFile', tls.certFile),
              ...defined('keyFile', tls.keyFile),
            },
          }),
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new BrokerError('precondition', `no NATS server of ${servers.join(', ')} can be used: ${why}`, {
      cause: error,
    });
  }
  log.info('connected to NATS', { server: nc.getServer(), serverVersion: nc.info?.version });
  void report(nc, log);
  return nc;
}

async function report(nc: NatsConnection, log: Log): Promise<void> {
  for await (const status of nc.status()) {
    if (status.type === 'disconnect') log.warn('the connection to NATS is lost', { server: status.server });
    else if (status.type === 'reconnect') log.info('connected to NATS again', { server: status.server });
    else if (status.type === 'error') log.warn('NATS reports an error', { error: status.error.message });
  }
}

function authenticatorOf({ credentialsFile, nkeyFile }: NatsConnectionOptions): Authenticator | undefined {
  if (credentialsFile !== undefined) return credsAuthenticator(readFileSync(credentialsFile));
  if (nkeyFile === undefined) return undefined;
  return nkeyAuthenticator(Buffer.from(readFileSync(nkeyFile, 'utf8').trim()));
}
