import tseslint from 'typescript-eslint';

// What has exactly one home. Everything else gets it by constructor, so that tests can move time and repeat a run.
const oneHome = {
  'Date.now': { selector: "MemberExpression[object.name='Date'][property.name='now']", home: 'base/clock' },
  'new Date()': { selector: "NewExpression[callee.name='Date'][arguments.length=0]", home: 'base/clock' },
  'Math.random': {
    selector: "MemberExpression[object.name='Math'][property.name='random']",
    home: 'base/ids',
  },
  randomUUID: { selector: "CallExpression[callee.name='randomUUID']", home: 'base/ids' },
  'process.env': {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    home: 'app/main',
  },
};

/** The `no-restricted-syntax` entries of everything but the things whose home the files are. */
function restricted(...homeOf) {
  return [
    'error',
    ...Object.entries(oneHome)
      .filter(([name]) => !homeOf.includes(name))
      .map(([name, { selector, home }]) => ({ selector, message: `${name} has one home: src/${home}` })),
    { selector: 'TSEnumDeclaration', message: 'Use a union of literals.' },
  ];
}

const perFunction = ['error', { max: 70, skipBlankLines: true, skipComments: true }];

export default tseslint.config(
  { ignores: ['dist/', 'data/', 'coverage/', '.cache/', 'bench/results/', '**/gen/**'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  ...tseslint.configs.strictTypeChecked,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Ports are promises; an implementation that has nothing to wait for is still a correct one.
      '@typescript-eslint/require-await': 'off',
      // `for (;;)` and `while (true)` are how a loop with its exit in the middle is written.
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'always' }],
      eqeqeq: 'error',
      'no-case-declarations': 'error',
      'no-constant-binary-expression': 'error',
      'no-control-regex': 'error',
      'no-empty': 'error',
      'no-fallthrough': 'error',
      'no-loss-of-precision': 'error',
      'no-self-compare': 'error',
      'no-unsafe-finally': 'error',
      'no-useless-escape': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': perFunction,
      'no-console': 'error',
      'no-restricted-syntax': restricted(),
    },
  },
  { files: ['src/base/clock.ts'], rules: { 'no-restricted-syntax': restricted('Date.now') } },
  { files: ['src/base/ids.ts'], rules: { 'no-restricted-syntax': restricted('Math.random', 'randomUUID') } },
  { files: ['src/app/main.ts'], rules: { 'no-restricted-syntax': restricted('process.env') } },
  {
    // A codec is called per message; an options object there is an allocation.
    files: ['src/connectors/*/wire/**/*.ts'],
    rules: { '@typescript-eslint/max-params': ['error', { max: 6 }] },
  },
  {
    // The core reads no clock and starts no timer but through `Clock`.
    files: ['src/core/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'setImmediate', 'performance'] },
  },
  {
    files: [
      '**/*.test.ts',
      '**/*.contract.ts',
      'test/**/*.ts',
      'bench/**/*.ts',
      'scripts/**/*.ts',
      'examples/**/*.ts',
    ],
    rules: {
      'max-lines-per-function': 'off',
      'no-console': 'off',
      'no-restricted-syntax': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  { files: ['**/*.js', '**/*.cjs', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);
