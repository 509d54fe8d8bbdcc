import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, loadConfig, type Loaded } from './load.js';
import { settingsOf } from './setting.js';
import { environmentSource, flagSource } from './source.js';
import { yamlSource } from './yaml-source.js';

const schema = z.object({
  host: z.string().default('0.0.0.0').describe('Address.'),
  connectors: z.object({
    aws: z.object({
      enable: z.boolean().default(false),
      port: z.number().int().min(0).max(65_535).default(4566),
      accountId: z.string().default('000000000000'),
      secretKey: z.string().default('').meta({ secret: true }),
    }),
  }),
  log: z.object({ format: z.enum(['auto', 'json']).default('auto') }),
  grpc: z.object({ port: z.number().int().default(1), bodyLimit: z.number().default(2) }).meta({
    alsoAt: 'connectors.grpc',
  }),
  keys: z
    .array(z.strictObject({ id: z.string(), key: z.string().min(3) }))
    .default([])
    .meta({ secret: true }),
  aliases: z.array(z.strictObject({ alias: z.string(), channel: z.string() })).default([]),
  queues: z
    .array(z.strictObject({ name: z.string().min(1), limits: z.record(z.string(), z.number()).default({}) }))
    .default([])
    .meta({ declarations: true }),
});
const settings = settingsOf(schema);

interface Given {
  flags?: Record<string, unknown>;
  environment?: Record<string, string>;
  yaml?: string;
}

function load({ flags = {}, environment = {}, yaml = '' }: Given): Loaded<z.output<typeof schema>> {
  return loadConfig(schema, [
    flagSource(new Map(Object.entries(flags))),
    environmentSource(environment),
    yamlSource('polymq.yaml', yaml, settings),
  ]);
}

function faultsOf(given: Given): readonly string[] {
  try {
    load(given);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('settings of a schema', () => {
  it('have an environment name, a flag and a key derived from their place', () => {
    const setting = settings.find(({ key }) => key === 'connectors.aws.accountId');
    expect(setting).toMatchObject({
      environment: 'CONNECTORS_AWS_ACCOUNT_ID',
      flag: '--connectors-aws-account-id',
      kind: 'text',
      defaultValue: '000000000000',
    });
  });

  it('know their kind, bounds and secrecy', () => {
    const byKey = new Map(settings.map((setting) => [setting.key, setting]));
    expect(byKey.get('connectors.aws.port')).toMatchObject({ kind: 'number', bounds: '0–65535' });
    expect(byKey.get('connectors.aws.secretKey')?.secret).toBe(true);
    expect(byKey.get('log.format')).toMatchObject({ kind: 'choice', choices: ['auto', 'json'] });
    expect(byKey.get('aliases')?.kind).toBe('pairs');
    expect(byKey.get('host')?.description).toBe('Address.');
  });
});

describe('precedence', () => {
  const yaml = 'connectors:\n  aws:\n    port: 1\n';

  it('falls back to the default', () => {
    const { config, origins } = load({});
    expect(config.connectors.aws.port).toBe(4566);
    expect(origins.get('connectors.aws.port')).toBe('default');
  });

  it('takes the file over the default', () => {
    expect(load({ yaml }).config.connectors.aws.port).toBe(1);
  });

  it('takes the environment over the file', () => {
    const { config, origins } = load({ yaml, environment: { CONNECTORS_AWS_PORT: '2' } });
    expect(config.connectors.aws.port).toBe(2);
    expect(origins.get('connectors.aws.port')).toBe('environment');
  });

  it('takes the flag over all', () => {
    const { config } = load({
      yaml,
      environment: { CONNECTORS_AWS_PORT: '2' },
      flags: { 'connectors.aws.port': '3' },
    });
    expect(config.connectors.aws.port).toBe(3);
  });

  it('takes port 0 as a value and an empty variable as none', () => {
    expect(load({ environment: { CONNECTORS_AWS_PORT: '0' } }).config.connectors.aws.port).toBe(0);
    expect(load({ environment: { CONNECTORS_AWS_PORT: '' } }).config.connectors.aws.port).toBe(4566);
  });
});

describe('a group with a second place', () => {
  it('is read from either, by the variable and in the file; its own name wins', () => {
    const other = { CONNECTORS_GRPC_PORT: '5' };
    expect(load({ environment: other }).config.grpc.port).toBe(5);
    expect(load({ environment: { ...other, GRPC_PORT: '' } }).config.grpc.port).toBe(5);
    expect(load({ environment: { ...other, GRPC_PORT: '6' } }).config.grpc.port).toBe(6);
    const yaml = 'connectors:\n  grpc:\n    port: 7\n    bodyLimit: 8\n';
    expect(load({ yaml }).config.grpc).toEqual({ port: 7, bodyLimit: 8 });
    expect(load({ yaml: `${yaml}grpc:\n  port: 9\n` }).config.grpc).toEqual({ port: 9, bodyLimit: 8 });
  });

  it('is named in faults as it was written', () => {
    expect(faultsOf({ environment: { CONNECTORS_GRPC_PORT: 'x' } })[0]).toMatch(/^CONNECTORS_GRPC_PORT: /);
    expect(faultsOf({ yaml: 'connectors:\n  grpc:\n    port: x\n' })[0]).toMatch(
      /^connectors\.grpc\.port \(polymq\.yaml:3\): /,
    );
    expect(faultsOf({ yaml: 'connectors:\n  grpc:\n    pork: 1\n' })[0]).toContain('is not a setting');
  });
});

describe('values as text', () => {
  it.each([
    ['true', true],
    ['1', true],
    ['YES', true],
    ['off', false],
    ['0', false],
  ])('reads %j as %j', (text, value) => {
    expect(load({ environment: { CONNECTORS_AWS_ENABLE: text } }).config.connectors.aws.enable).toBe(value);
  });

  it('reads aliases from one line', () => {
    expect(load({ environment: { ALIASES: 'a.b=c.d, e=f' } }).config.aliases).toEqual([
      { alias: 'a.b', channel: 'c.d' },
      { alias: 'e', channel: 'f' },
    ]);
  });

  it('names the halves of a pair as the list does, and keeps equals signs of the second', () => {
    expect(load({ environment: { KEYS: 'AK=a/b+c==,B=xyz' } }).config.keys).toEqual([
      { id: 'AK', key: 'a/b+c==' },
      { id: 'B', key: 'xyz' },
    ]);
    expect(load({ yaml: 'keys:\n  - { id: A, key: xyz }\n' }).config.keys).toEqual([{ id: 'A', key: 'xyz' }]);
    expect(faultsOf({ environment: { KEYS: 'hunter2' } })).toEqual([
      'KEYS: must be a list such as id=key,id=key, not the given value',
    ]);
    expect(faultsOf({ environment: { KEYS: 'A=x' } })[0]).not.toMatch(/A=x/);
  });

  it('reads aliases from the file', () => {
    const yaml = 'aliases:\n  - { alias: a, channel: b }\n';
    expect(load({ yaml }).config.aliases).toEqual([{ alias: 'a', channel: 'b' }]);
  });
});

describe('declarations', () => {
  const yaml = 'queues:\n  - name: a\n  - name: b\n    limits:\n      most: many\n  - nam: c\n';

  it('are structures in the file and JSON elsewhere', () => {
    expect(load({ yaml: 'queues:\n  - name: a\n    limits: { most: 3 }\n' }).config.queues).toEqual([
      { name: 'a', limits: { most: 3 } },
    ]);
    expect(load({ environment: { QUEUES: '[{"name":"a"}]' } }).config.queues).toEqual([
      { name: 'a', limits: {} },
    ]);
    expect(faultsOf({ environment: { QUEUES: 'a' } })).toEqual(['QUEUES: must be a list, as JSON, not "a"']);
  });

  it('are refused by the place that is wrong, with its line', () => {
    expect(faultsOf({ yaml })).toEqual([
      expect.stringMatching(/^queues\[1\]\.limits\.most \(polymq\.yaml:5\): /),
      expect.stringMatching(/^queues\[2\]\.name \(polymq\.yaml:6\): /),
      expect.stringMatching(/^queues\[2\] \(polymq\.yaml:6\): .*nam/),
    ]);
    expect(faultsOf({ environment: { QUEUES: '[{}]' } })[0]).toMatch(/^QUEUES\[0\]\.name: /);
  });
});

describe('faults', () => {
  it.each(['abc', '70000', '-1', '1.5', '0x10', 'NaN'])('refuses port %j and names the variable', (text) => {
    expect(faultsOf({ environment: { CONNECTORS_AWS_PORT: text } })).toEqual([
      `CONNECTORS_AWS_PORT: must be a whole number (0–65535), not "${text}"`,
    ]);
  });

  it('names the flag', () => {
    expect(faultsOf({ flags: { 'connectors.aws.enable': 'maybe' } })).toEqual([
      '--connectors-aws-enable: must be true or false, not "maybe"',
    ]);
  });

  it('names the key, the file and the line', () => {
    expect(faultsOf({ yaml: 'host: here\nconnectors:\n  aws:\n    port: lots\n' })).toEqual([
      'connectors.aws.port (polymq.yaml:4): must be a whole number (0–65535), not "lots"',
    ]);
  });

  it('refuses unknown keys of the file, with their line', () => {
    expect(faultsOf({ yaml: 'connectors:\n  aws:\n    prot: 1\nconectors: {}\n' })).toEqual([
      'polymq.yaml:3: connectors.aws.prot is not a setting',
      'polymq.yaml:4: conectors is not a setting',
    ]);
  });

  it('refuses a group that is no group, broken YAML and doubled keys', () => {
    expect(faultsOf({ yaml: 'connectors: 5\n' })[0]).toMatch(/connectors must hold settings/);
    expect(faultsOf({ yaml: '{ a: [\n' })[0]).toMatch(/^polymq\.yaml: /);
    expect(faultsOf({ yaml: 'host: a\nhost: b\n' })[0]).toMatch(/unique/);
  });

  it('refuses a number where text belongs, since YAML has eaten its zeros', () => {
    expect(faultsOf({ yaml: 'connectors:\n  aws:\n    accountId: 000000000123\n' })[0]).toMatch(
      /put .* in quotes/,
    );
  });

  it('lists all faults at once', () => {
    expect(faultsOf({ environment: { CONNECTORS_AWS_PORT: 'x', LOG_FORMAT: 'xml' } })).toEqual([
      'CONNECTORS_AWS_PORT: must be a whole number (0–65535), not "x"',
      expect.stringMatching(/^LOG_FORMAT: /),
    ]);
  });

  it('never shows a secret', () => {
    const secret = z.object({ key: z.string().max(3).default('').meta({ secret: true }) });
    expect(() => loadConfig(secret, [environmentSource({ KEY: 'hunter2' })])).toThrow(/the given value/);
    expect(() => loadConfig(secret, [environmentSource({ KEY: 'hunter2' })])).not.toThrow(/hunter2/);
  });
});
