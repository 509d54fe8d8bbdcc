import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** What `polymq serve` imports when it runs, besides the connectors: the store is on disk. */
const SERVE = [
  'src/app/main.ts',
  'src/app/cli/serve.ts',
  'src/app/start.ts',
  'src/app/run.ts',
  'src/journal/disk/index.ts',
] as const;

let inputs: Metafile['inputs'];
beforeAll(async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/app/main.ts'],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: 'unwritten',
    write: false,
    metafile: true,
  });
  inputs = metafile.inputs;
});

/** All files that are loaded with these: what they import, without what they would import later. */
function loadedWith(entries: readonly string[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (loaded.has(path)) continue;
    const input = inputs[path];
    if (input === undefined) throw new Error(`${path} is no part of the program`);
    loaded.add(path);
    for (const one of input.imports)
      if (one.kind !== 'dynamic-import' && one.external !== true) waiting.push(one.path);
  }
  return loaded;
}

function packagesOf(files: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...files].flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []));
}

/** Settings of all connectors are known, whatever is on; the rest of a connector is its own affair. */
function connectorsIn(files: ReadonlySet<string>): readonly string[] {
  const own = [...files].filter((file) => !/\/(config|schema)\.ts$/.test(file));
  return [...new Set(own.flatMap((file) => /^src\/connectors\/([^/]+)\//.exec(file)?.[1] ?? []))].sort();
}

describe('a broker loads what is on', () => {
  it('and with AMQP alone no other connector, and no package but those of the start', () => {
    const files = loadedWith([...SERVE, 'src/connectors/amqp/index.ts']);
    expect(connectorsIn(files)).toEqual(['amqp', 'kit']);
    const packages = packagesOf(files);
    expect(packages).toContain('commander');
    for (const name of [
      'fastify',
      'ws',
      'jose',
      'yaml',
      'avsc',
      'protobufjs',
      '@bufbuild/protobuf',
      '@nats-io/nats-core',
      '@nats-io/jetstream',
      '@nats-io/transport-node',
    ])
      expect(packages, name).not.toContain(name);
    const optional = [...files].filter((file) =>
      /amqp\/(management|web-socket|declared\/topology)|src\/ops\/api\/admin|src\/app\/standby\/listeners|src\/journal\/(jetstream|memory)/.test(
        file,
      ),
    );
    expect(optional).toEqual([]);
  });

  it.each(['aws', 'gcp', 'native'])('and with %s none of the other connectors', (name) => {
    expect(connectorsIn(loadedWith([...SERVE, `src/connectors/${name}/index.ts`]))).toEqual(
      ['kit', name].sort(),
    );
  });

  it('and before the configuration is read no connector at all', () => {
    // The command line knows how a TLS socket is told from a plain one; that is in the kit.
    expect(connectorsIn(loadedWith(['src/app/main.ts', 'src/app/cli/serve.ts']))).toEqual(['kit']);
  });
});
