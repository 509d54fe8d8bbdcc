import type { Connector, ConnectorContext } from '../kit/connector.js';
import type { AwsConfig } from './config.js';
import { AwsConnector } from './connector.js';

export { awsConfigSchema } from './config.js';
export type { AwsConfig } from './config.js';

/** Makes the AWS connector: SQS and SNS on one port. */
export function createAwsConnector(context: ConnectorContext, config: AwsConfig): Connector {
  return new AwsConnector(context, config);
}
