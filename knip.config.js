/** @type {import('knip').KnipConfig} */
export default {
  entry: [
    'src/app/main.ts',
    'src/app/index.ts',
    'scripts/*.{ts,js}',
    'bench/**/*.ts',
    'test/**/*.test.ts',
    'test/**/*.contract.ts',
    'test/fault/**/*.ts',
    'test/cross/**/*.ts',
  ],
  project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.{ts,js}'],
  ignore: ['**/gen/**'],
  // Called by name from scripts, not imported.
  ignoreDependencies: ['@bufbuild/buf', '@bufbuild/protoc-gen-es'],
  // Contracts and types may stand ready for the next implementation.
  ignoreExportsUsedInFile: true,
  rules: { types: 'off', enumMembers: 'off', classMembers: 'off' },
};
