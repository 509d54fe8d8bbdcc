/** @type {import('knip').KnipConfig} */
export default {
  entry: [
    'src/app/main.ts',
    'src/app/index.ts',
    'scripts/*.{ts,js}',
    'bench/**/*.ts',
    'examples/**/*.ts',
    'test/**/*.test.ts',
    'test/**/*.contract.ts',
    'test/{fault,cross,interop}/**/*.ts',
  ],
  project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.{ts,js}', 'examples/**/*.ts'],
  ignore: ['**/gen/**'],
  // Called by name from scripts, not imported.
  ignoreDependencies: ['@bufbuild/buf', '@bufbuild/protoc-gen-es'],
  // Programs of the machine, looked for before they are used.
  ignoreBinaries: ['taskset', 'apt-get', 'epmd', 'mount', 'umount', 'nats-server', 'ip', 'tc'],
  // The face of a connector, whole even where the product takes only a part.
  ignoreIssues: { 'src/connectors/*/index.ts': ['exports', 'types'] },
  // Contracts and types may stand ready for the next implementation.
  ignoreExportsUsedInFile: true,
  rules: { types: 'off', enumMembers: 'off' },
};
