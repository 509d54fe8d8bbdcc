import type { Connector, ConnectorContext } from '../connectors/kit/connector.js';
import type { Config } from './settings.js';

/**
 * The connectors that the configuration turns on, in the order they start. One that is off is not even loaded: its code and its
 * packages would stay in memory for nothing.
 */
export async function createConnectors(
  context: ConnectorContext,
  config: Config,
): Promise<readonly Connector[]> {
  const { grpc, rest, connectors } = config;
  const own = (component: string): ConnectorContext => ({
    ...context,
    log: context.log.child({ component }),
  });
  const created: Connector[] = [];
  if (grpc.enable || rest.enable) {
    const { createNativeConnector } = await import('../connectors/native/index.js');
    created.push(createNativeConnector(own('native'), grpc, rest));
  }
  if (connectors.aws.enable) {
    const { createAwsConnector } = await import('../connectors/aws/index.js');
    created.push(createAwsConnector(own('aws'), connectors.aws));
  }
  if (connectors.gcp.enable) {
    const { createGcpConnector } = await import('../connectors/gcp/index.js');
    created.push(createGcpConnector(own('gcp'), connectors.pubSub, connectors.gcp.enableReflection));
  }
  if (connectors.amqp.enable) {
    const { createAmqpConnector } = await import('../connectors/amqp/index.js');
    created.push(createAmqpConnector(own('amqp'), connectors.amqp));
  }
  return created;
}
