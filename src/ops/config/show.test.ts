import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from './load.js';
import { settingsOf } from './setting.js';
import { showConfig } from './show.js';
import { environmentSource } from './source.js';
import { yamlSource } from './yaml-source.js';

const schema = z.object({
  host: z.string().default('0.0.0.0'),
  connectors: z.object({
    aws: z.object({
      port: z.number().default(4566),
      accountId: z.string().default('000000000000'),
      password: z.string().default('').meta({ secret: true }),
      keys: z
        .array(z.strictObject({ id: z.string(), key: z.string() }))
        .default([])
        .meta({ secret: true }),
      oldKeys: z.array(z.string()).default([]).meta({ secret: true }),
      endpoints: z.array(z.strictObject({ name: z.string(), url: z.string() })).default([]),
    }),
    amqp: z.object({ enable: z.boolean().default(false) }),
  }),
});
const settings = settingsOf(schema);

describe('the effective configuration', () => {
  it('is a YAML file that says the same, with origins, without secrets', () => {
    const environment = {
      CONNECTORS_AWS_PORT: '9',
      CONNECTORS_AWS_PASSWORD: 'hunter2',
      CONNECTORS_AWS_KEYS: 'a=hunter2',
    };
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
        '    keys: "********"  # environment',
        '    oldKeys: []',
        '    endpoints: []',
        '  amqp:',
        '    enable: false',
        '',
      ].join('\n'),
    );
    // A hidden list is no list: such a file is refused rather than taken with other secrets.
    expect(() => loadConfig(schema, [yamlSource('shown.yaml', text, settings)])).toThrow(
      /connectors\.aws\.keys/,
    );
    const open = text.replace(/^ *keys: .*\n/m, '');
    const again = loadConfig(schema, [yamlSource('shown.yaml', open, settings)]).config;
    expect(again.connectors.aws).toMatchObject({ port: 9, accountId: '000000000000' });
  });

  it('shows addresses without the name and the password in them', () => {
    const urls = 'a=https://bob:hunter2@here:1/x@y,b=https://here/x@y,c=nats://hunter2@here';
    const sources = [environmentSource({ CONNECTORS_AWS_ENDPOINTS: urls })];
    const { config, origins } = loadConfig(schema, sources);
    const text = showConfig(settings, config, origins);
    expect(text).not.toContain('hunter2');
    for (const url of ['https://********@here:1/x@y', 'https://here/x@y', 'nats://********@here'])
      expect(text).toContain(`url: "${url}"`);
  });
});
