import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/folder.js';
import { freePort } from '../../support/free-port.js';

/** The script itself: the one on the search path changes the user when it is root's. */
const SCRIPT = '/usr/lib/rabbitmq/bin/rabbitmq-server';

export const rabbitMqInstalled = existsSync(SCRIPT);

export interface RabbitMq {
  readonly port: number;
  readonly managementPort: number;
  /** Runs `rabbitmqctl` with these arguments. Takes seconds. */
  ctl(...args: readonly string[]): void;
  stop(): Promise<void>;
}

/** Debian's RabbitMQ with the plugins that come with it, in a folder and on ports of its own. */
export async function startRabbitMq(): Promise<RabbitMq> {
  const folder = temporaryFolder();
  const [port, managementPort] = [await freePort(), await freePort()];
  const [distribution, mapper] = [await freePort(), await freePort()];
  for (const name of ['home', 'data', 'log']) mkdirSync(join(folder.path, name));
  writeFileSync(join(folder.path, 'plugins'), '[rabbitmq_consistent_hash_exchange,rabbitmq_management].\n');
  const http = { ip: '127.0.0.1', port: String(managementPort) };
  const settings = Object.entries(http).map(([key, value]) => `management.tcp.${key} = ${value}\n`);
  writeFileSync(join(folder.path, 'rabbitmq.conf'), settings.join(''));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(folder.path, 'home'),
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `interop${String(port)}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder.path, 'data'),
    RABBITMQ_LOG_BASE: join(folder.path, 'log'),
    RABBITMQ_PID_FILE: join(folder.path, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder.path, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder.path, 'rabbitmq'),
    RABBITMQ_CONF_ENV_FILE: join(folder.path, 'none'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1',
  };
  const child = spawn(SCRIPT, [], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    // The name service that the node started outlives it.
    spawnSync('epmd', ['-port', String(mapper), '-kill'], { env });
    folder.remove();
  };
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const onOutput = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/Starting broker\.\.\. completed|completed with/.test(output)) resolve();
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    void exited.then(() => reject(new Error(`rabbitmq-server ended:\n${output}`)));
  });
  const ctl = (...args: readonly string[]): void => {
    const script = SCRIPT.replace('rabbitmq-server', 'rabbitmqctl');
    const done = spawnSync(script, ['-n', env.RABBITMQ_NODENAME, ...args], { env, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`rabbitmqctl ${args.join(' ')}:\n${done.stdout}${done.stderr}`);
  };
  return { port, managementPort, stop, ctl };
}
