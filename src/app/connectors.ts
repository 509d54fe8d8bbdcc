import { createAmqpConnector } from '../connectors/amqp/index.js';
import { createAwsConnector } from '../connectors/aws/index.js';
import { createGcpConnector } from '../connectors/gcp/index.js';
import type { Connector, ConnectorContext } from '../connectors/kit/connector.js';
import { createNativeConnector } from '../connectors/native/index.js';
import type { Config } from './settings.js';

/** The connectors that the configuration turns on, in the order they start. */
export function createConnectors(context: ConnectorContext, config: Config): readonly Connector[] {
  const { grpc, rest, connectors } = config;
  const own = (component: string): ConnectorContext => ({
    ...context,
    log: context.log.child({ component }),
  });
  return [
    ...(grpc.enable || rest.enable ? [createNativeConnector(own('native'), grpc, rest)] : []),
    ...(connectors.aws.enable ? [createAwsConnector(own('aws'), connectors.aws)] : []),
    ...(connectors.gcp.enable
      ? [createGcpConnector(own('gcp'), connectors.pubSub, connectors.gcp.enableReflection)]
      : []),
    ...(connectors.amqp.enable ? [createAmqpConnector(own('amqp'), connectors.amqp)] : []),
  ];
}
