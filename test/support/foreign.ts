import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A client or server that is not an npm package: where it is, or undefined. */
export interface ForeignTool {
  readonly name: string;
  readonly found: string | undefined;
  /** Debian packages that bring it. */
  readonly debianPackages: readonly string[];
}

const known = new Map<string, string | undefined>();

function once(key: string, look: () => string | undefined): string | undefined {
  if (!known.has(key)) known.set(key, look());
  return known.get(key);
}

/**
 * The Python that has `module`, or undefined. Debian's packages belong to /usr/bin/python3, which is often not the first
 * `python3` of the path.
 */
export function pythonWith(module: string): string | undefined {
  return once(`python:${module}`, () =>
    ['python3', '/usr/bin/python3'].find(
      (python) =>
        spawnSync(python, ['-c', `import ${module}`], { stdio: 'ignore', timeout: 20_000 }).status === 0,
    ),
  );
}

/** The Ruby that has a library; Debian's belong to /usr/bin/ruby. */
export function rubyWith(library: string): string | undefined {
  return once(`ruby:${library}`, () =>
    ['/usr/bin/ruby', 'ruby'].find(
      (ruby) =>
        spawnSync(ruby, ['-e', `require '${library}'`], { stdio: 'ignore', timeout: 20_000 }).status === 0,
    ),
  );
}

/** The PHP that has a library of Debian's, by its folder in /usr/share/php. */
export function phpWith(library: string): string | undefined {
  return once(`php:${library}`, () =>
    existsSync(join('/usr/share/php', library, 'autoload.php')) ? program('php') : undefined,
  );
}

/** librabbitmq's command line tools. */
export function amqpTools(): string | undefined {
  return program('amqp-publish', '');
}

/** Path of a program, or undefined when it is missing or does not start. */
export function program(name: string, versionFlag = '--version'): string | undefined {
  return once(`program:${name}`, () => {
    const path = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    if (path === '') return undefined;
    const works =
      versionFlag === '' || spawnSync(path, [versionFlag], { stdio: 'ignore', timeout: 20_000 }).status === 0;
    return works ? path : undefined;
  });
}

/** Everything foreign that some test can use. */
export function foreignTools(): readonly ForeignTool[] {
  return [
    { name: 'pika', found: pythonWith('pika'), debianPackages: ['python3-pika'] },
    { name: 'kombu', found: pythonWith('kombu'), debianPackages: ['python3-kombu'] },
    { name: 'Celery', found: pythonWith('celery'), debianPackages: ['python3-celery'] },
    { name: 'bunny', found: rubyWith('bunny'), debianPackages: ['ruby-bunny'] },
    { name: 'php-amqplib', found: phpWith('PhpAmqpLib'), debianPackages: ['php-amqplib', 'php-cli'] },
    { name: 'amqp-tools', found: amqpTools(), debianPackages: ['amqp-tools'] },
    { name: 'boto3', found: pythonWith('boto3'), debianPackages: ['python3-boto3'] },
    { name: 'AWS CLI', found: program('aws'), debianPackages: ['awscli'] },
    { name: 'NATS server', found: program('nats-server'), debianPackages: ['nats-server'] },
    // Not started to ask its version: that takes Erlang seconds.
    { name: 'RabbitMQ', found: program('rabbitmq-server', ''), debianPackages: ['rabbitmq-server'] },
  ];
}

export function missingDebianPackages(): readonly string[] {
  return foreignTools()
    .filter((tool) => tool.found === undefined)
    .flatMap((tool) => tool.debianPackages);
}

/** Something was installed: what was missing may be there now. */
export function lookAgain(): void {
  known.clear();
}
