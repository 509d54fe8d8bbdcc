import { z } from 'zod';
import { amqpConfigSchema } from '../connectors/amqp/config.js';
import { awsConfigSchema } from '../connectors/aws/config.js';
import { gcpConfigSchema } from '../connectors/gcp/config.js';
import { nativeConfigSchema } from '../connectors/native/config.js';
import { restConfigSchema } from '../connectors/native/rest/config.js';
import {
  aliasesSetting,
  apiSettings,
  hostSetting,
  logSettings,
  shutdownSettings,
  storeSettings,
} from '../ops/config/sections.js';
import { natsSettings } from '../ops/config/nats.js';
import { authenticationSettings, authorizationSettings, securitySettings } from '../ops/config/security.js';
import { settingsOf } from '../ops/config/setting.js';

const enable = (what: string) => z.boolean().default(false).describe(`Serve ${what}.`);

/** Everything that can be set, in the order of the reference page. Names follow from the places. */
export const settingsSchema = z.object({
  host: hostSetting,
  api: apiSettings,
  store: storeSettings,
  nats: natsSettings,
  log: logSettings,
  shutdown: shutdownSettings,
  aliases: aliasesSetting,
  security: securitySettings,
  authentication: authenticationSettings,
  authorization: authorizationSettings,
  // Settings of other brokers with this API have these groups in either place.
  grpc: nativeConfigSchema.meta({ alsoAt: 'connectors.grpc' }),
  rest: restConfigSchema.meta({ alsoAt: 'connectors.rest' }),
  connectors: z.object({
    aws: awsConfigSchema,
    gcp: z.object({
      enable: enable('Google Cloud Pub/Sub'),
      enableReflection: z
        .boolean()
        .default(false)
        .describe('Serve gRPC reflection on the Pub/Sub port, for tools such as grpcurl.'),
    }),
    pubSub: gcpConfigSchema,
    amqp: amqpConfigSchema,
  }),
});

export type Config = z.output<typeof settingsSchema>;

export const SETTINGS = settingsOf(settingsSchema);

/** Keys of the switches that `serve --all` turns on unless something says otherwise. */
export const CONNECTOR_SWITCHES = [
  'grpc.enable',
  'rest.enable',
  'connectors.aws.enable',
  'connectors.gcp.enable',
  'connectors.amqp.enable',
] as const;

/** What no single setting can get wrong: two listeners on one port. One line per fault. */
export function crossFaults(config: Config): readonly string[] {
  const { grpc, rest, connectors } = config;
  const listeners: readonly (readonly [name: string, on: boolean, port: number])[] = [
    ['API_PORT', true, config.api.port],
    ['GRPC_PORT', grpc.enable, grpc.port],
    ['REST_PORT', rest.enable, rest.port],
    ['CONNECTORS_AWS_PORT', connectors.aws.enable, connectors.aws.port],
    ['CONNECTORS_PUB_SUB_PORT', connectors.gcp.enable, connectors.pubSub.port],
    ['CONNECTORS_AMQP_PORT', connectors.amqp.enable, connectors.amqp.port],
    [
      'CONNECTORS_AMQP_MANAGEMENT_PORT',
      connectors.amqp.enable && connectors.amqp.managementEnable,
      connectors.amqp.managementPort,
    ],
    [
      'CONNECTORS_AMQP_WEB_SOCKET_PORT',
      connectors.amqp.enable && connectors.amqp.webSocketEnable,
      connectors.amqp.webSocketPort,
    ],
  ];
  const taken = new Map<number, string>();
  const faults: string[] = [];
  for (const [name, on, port] of listeners) {
    if (!on || port === 0) continue;
    const holder = taken.get(port);
    if (holder === undefined) taken.set(port, name);
    else faults.push(`${name}: ${port} is taken by ${holder}`);
  }
  return [...faults, ...securityFaults(config), ...natsFaults(config)];
}

function natsFaults({ nats }: Config): string[] {
  const faults: string[] = [];
  // The client would go without them, and an address is shown where a password is not.
  if (nats.url.includes('@'))
    faults.push('NATS_URL: name and password go into NATS_USER and NATS_PASSWORD, not into the address');
  if (nats.user !== '' && nats.token !== '') faults.push('NATS_USER, NATS_TOKEN: one of them, not both');
  if ((nats.certFilename === '') !== (nats.keyFilename === ''))
    faults.push(
      'NATS_CERT_FILENAME, NATS_KEY_FILENAME: a certificate needs its key, and a key its certificate',
    );
  return faults;
}

/** What is missing for the security that is asked for. */
function securityFaults({ security, authentication, authorization, connectors }: Config): string[] {
  const faults: string[] = [];
  const given = (...texts: readonly string[]): boolean => texts.some((text) => text !== '');
  const certificate = given(security.certFilename, security.certData);
  if (certificate !== given(security.keyFilename, security.keyData)) {
    faults.push(
      'SECURITY_CERT_FILENAME, SECURITY_KEY_FILENAME: a certificate needs its key, and a key its certificate',
    );
  }
  if (given(security.caFilename, security.caData) && !certificate) {
    faults.push('SECURITY_CA_FILENAME: needs SECURITY_CERT_FILENAME and SECURITY_KEY_FILENAME');
  }
  const { key, filePath } = authentication.jwtConfig;
  if (authentication.enable && !given(key, filePath)) {
    faults.push('AUTHENTICATION_JWT_CONFIG_KEY: needed when AUTHENTICATION_ENABLE is on');
  }
  if (authentication.enable && connectors.aws.enable && connectors.aws.credentials.length === 0) {
    faults.push(
      'CONNECTORS_AWS_CREDENTIALS: needed when AUTHENTICATION_ENABLE is on, else everybody may come in there',
    );
  }
  if (authorization.enable && !given(authorization.policyData, authorization.filePath)) {
    faults.push('AUTHORIZATION_FILE_PATH: needed when AUTHORIZATION_ENABLE is on');
  }
  return faults;
}
