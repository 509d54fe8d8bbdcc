import type { Connector, ConnectorContext } from '../kit/connector.js';
import type { AmqpConfig } from './config.js';
import { AmqpConnector } from './connector.js';

export { amqpConfigSchema } from './config.js';
export type { AmqpConfig } from './config.js';

/** The AMQP 0-9-1 connector; it listens once started. */
export function createAmqpConnector(context: ConnectorContext, config: AmqpConfig): Connector {
  return new AmqpConnector(context, config);
}
