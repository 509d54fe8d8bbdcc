import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from './load.js';
import { settingsOf } from './setting.js';
import { showConfig } from './show.js';
import { environmentSource, yamlSource } from './source.js';

const schema = z.object({
  host: z.string().default('0.0.0.0'),
  connectors: z.object({
    aws: z.object({
      port: z.number().default(4566),
      accountId: z.string().default('000000000000'),
      password: z.string().default('').meta({ secret: true }),
    }),
    amqp: z.object({ enable: z.boolean().default(false) }),
  }),
});
const settings = settingsOf(schema);

describe('the effective configuration', () => {
  it('is a YAML file that says the same, with origins, without secrets', () => {
    const environment = { CONNECTORS_AWS_PORT: '9', CONNECTORS_AWS_PASSWORD: 'hunter2' };
    const { config, origins } = loadConfig(schema, [environmentSource(environment)]);
    const text = showConfig(settings, config, origins);
    expect(text).toBe(
      [
        'host: "0.0.0.0"',
        'connectors:',
        '  aws:',
        '    port: 9  # environment',
        '    accountId: "000000000000"',
        '    password: "********"  # environment',
        '  amqp:',
        '    enable: false',
        '',
      ].join('\n'),
    );
    const again = loadConfig(schema, [yamlSource('shown.yaml', text, settings)]).config;
    expect(again.connectors.aws).toMatchObject({ port: 9, accountId: '000000000000' });
  });
});
