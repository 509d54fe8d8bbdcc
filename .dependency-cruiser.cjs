/** The layers of docs/architecture.md as rules: one-way imports, no cycles. */
const outside = (layers) => `^src/(?!(${layers})/)`;

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'base-stands-alone',
      comment: 'base has no messaging words and no packages',
      severity: 'error',
      from: { path: '^src/base/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(?!src/base/)', dependencyTypesNot: ['core'] },
    },
    {
      name: 'core-knows-base-only',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.test\\.ts$' },
      to: { path: outside('core|base') },
    },
    {
      name: 'core-has-no-packages',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'core-touches-no-machine',
      comment: 'files, sockets and processes are behind ports',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^(node:)?(fs|fs/promises|net|tls|http|http2|https|dgram|child_process|cluster|worker_threads)$',
      },
    },
    {
      name: 'journal-knows-core',
      severity: 'error',
      from: { path: '^src/journal/', pathNot: '\\.test\\.ts$' },
      to: { path: outside('journal|core|base') },
    },
    {
      name: 'cluster-knows-core',
      severity: 'error',
      from: { path: '^src/cluster/', pathNot: '\\.test\\.ts$' },
      to: { path: outside('cluster|core|base') },
    },
    {
      name: 'kit-knows-core',
      severity: 'error',
      from: { path: '^src/connectors/kit/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/(?!(core|base|connectors/kit)/)' },
    },
    {
      name: 'connector-knows-kit-and-core',
      comment: 'no connector imports another, a journal, the cluster, ops or the app',
      severity: 'error',
      from: { path: '^src/connectors/(?!kit/)([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(core|base|connectors/kit|connectors/$1)/' },
    },
    {
      name: 'wire-knows-bytes-only',
      comment: 'a codec is a pure function over bytes',
      severity: 'error',
      from: { path: '^src/connectors/([^/]+)/wire/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(base|connectors/$1/wire|connectors/$1/gen)/' },
    },
    {
      name: 'ops-knows-ports-only',
      comment: 'ops sees the broker facade and the contracts, no connector and no journal implementation',
      severity: 'error',
      from: { path: '^src/ops/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(ops|core|base|connectors/kit)/' },
    },
    {
      name: 'app-is-the-root',
      severity: 'error',
      from: { path: '^src/(?!app/)' },
      to: { path: '^src/app/' },
    },
    {
      name: 'packages-have-a-home',
      comment: 'a run-time package is imported by the layer it was chosen for',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(ops|app)/', '\\.test\\.ts$'] },
      to: { path: '^node_modules/(pino|yaml|commander)/' },
    },
    {
      name: 'no-dev-packages-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-tests-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(test|bench|scripts)/|\\.test\\.ts$' },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
