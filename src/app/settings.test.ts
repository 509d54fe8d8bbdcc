import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/folder.js';
import { writeFileSync } from 'node:fs';
import { ConfigError } from '../ops/config/load.js';
import { configurationPage } from '../ops/config/page.js';
import { showConfig } from '../ops/config/show.js';
import { configFrom, readConfig, unknownVariables } from './read-config.js';
import { CONNECTOR_SWITCHES, SETTINGS } from './settings.js';

describe('the settings', () => {
  it('have the names the specification gives them', () => {
    const names = SETTINGS.map((setting) => setting.environment);
    expect(names).toEqual(
      expect.arrayContaining([
        'POLYMQ_HOST',
        'API_PORT',
        'STORE_PATH',
        'STORE_ENGINE',
        'STORE_SYNC',
        'STORE_SYNC_INTERVAL_MS',
        'STORE_MIN_FREE_BYTES',
        'STORE_MEMORY_MAX_BYTES',
        'LOG_LEVEL',
        'LOG_FORMAT',
        'SHUTDOWN_GRACE_MS',
        'GRPC_ENABLE',
        'GRPC_PORT',
        'REST_ENABLE',
        'REST_PORT',
        'CONNECTORS_AWS_ENABLE',
        'CONNECTORS_AWS_PORT',
        'CONNECTORS_AWS_REGION',
        'CONNECTORS_AWS_ACCOUNT_ID',
        'CONNECTORS_AWS_ADVERTISED_URL',
        'CONNECTORS_GCP_ENABLE',
        'CONNECTORS_PUB_SUB_PORT',
        'CONNECTORS_PUB_SUB_MAX_MESSAGE_BYTES',
        'CONNECTORS_PUB_SUB_DEFAULT_ACK_DEADLINE_SECONDS',
        'CONNECTORS_PUB_SUB_MAX_OUTSTANDING_MESSAGES',
        'CONNECTORS_AMQP_ENABLE',
        'CONNECTORS_AMQP_PORT',
        'CONNECTORS_AMQP_DEFAULT_VHOST',
        'CONNECTORS_AMQP_STRICT_NAMES',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it('all say what they are for and have a default', () => {
    for (const setting of SETTINGS) {
      expect(setting.description, setting.key).not.toBe('');
      expect(setting.defaultValue, setting.key).toBeDefined();
    }
  });

  it('default to the ports people expect, with every connector off', () => {
    const { grpc, rest, connectors, api } = configFrom({});
    expect([
      grpc.port,
      rest.port,
      connectors.aws.port,
      connectors.pubSub.port,
      connectors.amqp.port,
      api.port,
    ]).toEqual([50_000, 9090, 4566, 8085, 5672, 8080]);
    expect([grpc, rest, connectors.aws, connectors.gcp, connectors.amqp].map((c) => c.enable)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('know their switches', () => {
    for (const key of CONNECTOR_SWITCHES) expect(SETTINGS.find((s) => s.key === key)?.kind).toBe('boolean');
    const others = SETTINGS.filter((s) => s.path.at(-1) === 'enable' && !/^auth/.test(s.key)).map(
      (s) => s.key,
    );
    expect([...CONNECTOR_SWITCHES].sort()).toEqual(others.sort());
  });

  it('are documented as they are (`npm run docs:configuration`)', async () => {
    const file = join(import.meta.dirname, '../../docs/configuration.md');
    const page = await format(configurationPage(SETTINGS), {
      ...(await resolveConfig(file)),
      parser: 'markdown',
    });
    expect(readFileSync(file, 'utf8')).toBe(page);
  });
});

describe('reading the configuration', () => {
  const none = { flags: new Map<string, unknown>(), environment: {}, all: false };

  it('turns everything on with `all`, except what was switched off by name', async () => {
    const { config } = await readConfig({
      ...none,
      all: true,
      environment: { CONNECTORS_AMQP_ENABLE: 'false' },
    });
    const { grpc, rest, connectors } = config;
    expect([grpc, rest, connectors.aws, connectors.gcp, connectors.amqp].map((c) => c.enable)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('reads the file that POLYMQ_CONFIG names, `--config` first', async () => {
    const folder = temporaryFolder();
    try {
      const [one, two] = [join(folder.path, 'one.yaml'), join(folder.path, 'two.yaml')];
      writeFileSync(one, 'host: one\n');
      writeFileSync(two, 'host: two\n');
      const hostOf = async (file?: string): Promise<string> =>
        (await readConfig({ ...none, environment: { POLYMQ_CONFIG: one }, file })).config.host;
      expect(await hostOf()).toBe('one');
      expect(await hostOf(two)).toBe('two');
    } finally {
      folder.remove();
    }
  });

  it('refuses a file that is not there', async () => {
    await expect(readConfig({ ...none, file: '/no/such/file.yaml' })).rejects.toThrow(
      /no\/such\/file\.yaml: cannot be read/,
    );
  });

  it('refuses two listeners on one port, but not two free ones', async () => {
    const clash = { API_PORT: '7000', CONNECTORS_AWS_PORT: '7000' };
    await expect(readConfig({ ...none, all: true, environment: clash })).rejects.toThrow(
      'CONNECTORS_AWS_PORT: 7000 is taken by API_PORT',
    );
    await readConfig({ ...none, environment: clash });
    const free = { API_PORT: '0', CONNECTORS_AWS_PORT: '0' };
    await readConfig({ ...none, all: true, environment: free });
  });

  it.each(SETTINGS.filter(({ kind }) => kind !== 'text'))(
    'refuses what is no value of $environment, by the name it was given under',
    async ({ kind, environment, flag, key, secret }) => {
      const bad = kind === 'pairs' ? 'hunter2' : 'maybe hunter2';
      const named = async (input: Partial<typeof none>): Promise<string> =>
        readConfig({ ...none, ...input }).then(
          () => 'it was taken',
          (error: unknown) => String(error),
        );
      const faults = [
        await named({ environment: { [environment]: bad } }),
        await named({ flags: new Map([[key, bad]]) }),
      ];
      expect(faults[0]).toContain(`ConfigError: ${environment}: must be `);
      expect(faults[1]).toContain(`ConfigError: ${flag}: must be `);
      if (secret) expect(faults.join()).not.toContain('hunter2');
    },
  );

  it.each(SETTINGS.filter(({ secret }) => secret))('never shows $environment', async (setting) => {
    const given = setting.kind === 'pairs' ? 'name=hunter2' : 'hunter2';
    // A key needs its certificate.
    const environment = { SECURITY_CERT_DATA: 'x', SECURITY_KEY_DATA: 'x', [setting.environment]: given };
    const { config, origins } = await readConfig({ ...none, environment });
    expect(JSON.stringify(config)).toContain('hunter2');
    expect(showConfig(SETTINGS, config, origins)).not.toContain('hunter2');
  });

  it('refuses a name and a password in the address of NATS, without showing them', async () => {
    for (const url of ['nats://bob:hunter2@here:4222', 'there, bob:hunter2@here']) {
      const read = readConfig({ ...none, environment: { NATS_URL: url } });
      await expect(read).rejects.toThrow(/^NATS_URL: .*NATS_USER and NATS_PASSWORD/);
      await expect(read).rejects.not.toThrow('hunter2');
    }
  });

  it('finds variables that are nearly ours', () => {
    const unknown = {
      CONNECTORS_AWS_PROT: '1',
      STORE_PTAH: 'y',
      // A policy that is not read must not be missed.
      AUTHORIZATION_ENABEL: 'true',
      AUTHORIZATION_URL: 'http://x',
      SECURITY_CERT: 'x',
      CONNECTORS_GRPC_PROT: '1',
    };
    // As KubeMQ's commercial server calls them.
    const known = { STORE_PATH: 'x', CONNECTORS_GRPC_PORT: '1', CONNECTORS_REST_PORT: '2' };
    expect(unknownVariables({ ...unknown, ...known, PATH: '/bin' })).toEqual(Object.keys(unknown));
  });

  it('takes parts of it from a program', () => {
    expect(configFrom({ connectors: { aws: { port: 1 } } }).connectors.aws.port).toBe(1);
    expect(() => configFrom({ connectors: { aws: { port: -1 } } })).toThrow(ConfigError);
  });
});
