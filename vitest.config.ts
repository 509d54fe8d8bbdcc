import { defineConfig } from 'vitest/config';

const shared = { pool: 'forks', environment: 'node', restoreMocks: true, unstubEnvs: true } as const;

// eslint-disable-next-line no-restricted-syntax -- like the tests, it asks what this run is to do
const asked = process.env;
const withPythonSdk = asked['POLYMQ_PYTHON_SDK'] !== undefined;
const withGoogleClients = asked['POLYMQ_GOOGLE_CLIENTS'] !== undefined;
const withTerraform = asked['POLYMQ_TERRAFORM_PROVIDER'] !== undefined;
const withTerraformMirror = asked['POLYMQ_TERRAFORM_MIRROR'] !== undefined;
const withOtherSdks = asked['POLYMQ_EXAMPLES'] === 'all';

export default defineConfig({
  test: {
    // Two cores are the smallest machine the suite is made for; servers under test need a share of them.
    maxWorkers: 2,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/gen/**', 'src/**/*.test.ts'],
      // Branches: reads of typed arrays need a fallback that the types ask for and nothing reaches.
      thresholds: { 'src/{base,core}/**/*.ts': { lines: 95, branches: 85 } },
    },
    projects: [
      {
        // Fast and deterministic; also the part that runs on every supported Node (`npm run test:nodes`).
        test: {
          ...shared,
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/{contract,property,wire,simulation,repository}/**/*.test.ts'],
          testTimeout: 20_000,
          hookTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Real clients, real processes.
        test: {
          ...shared,
          name: 'system',
          include: ['test/{interop,cross,fault,system}/**/*.test.ts', 'bench/**/*.test.ts'],
          // Take SDKs that the machine's package manager does not bring along: by hand, see CONTRIBUTING.md.
          exclude: [
            ...(withOtherSdks ? [] : ['test/interop/aws/other-sdks.test.ts']),
            ...(withPythonSdk ? [] : ['test/interop/native/python-sdk.test.ts']),
            ...(withGoogleClients ? [] : ['test/interop/gcp/google-clients.test.ts']),
            ...(withTerraformMirror ? [] : ['test/interop/aws/terraform.test.ts']),
            ...(withTerraform ? [] : ['test/interop/gcp/terraform.test.ts']),
          ],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
