import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../src/app/settings.js';

const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');

function blocks(language: string): readonly string[] {
  return [...page.matchAll(/```(\w+)\n(.*?)```/gs)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
}

interface Port {
  readonly name: string;
  readonly containerPort: number;
}

/** Of a manifest, what is looked at here. */
interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template?: {
      readonly spec: {
        readonly containers: readonly {
          readonly env: readonly { readonly name: string }[];
          readonly ports: readonly Port[];
          readonly livenessProbe: { readonly httpGet: { readonly path: string } };
          readonly readinessProbe: { readonly httpGet: { readonly path: string } };
        }[];
      };
    };
  };
}

describe('the manifests of docs/operations.md', () => {
  const known = new Map(SETTINGS.map((setting) => [setting.environment, setting]));
  const manifests = blocks('yaml')
    .flatMap((text) => parseAllDocuments(text))
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Partial<Manifest>;
    })
    .filter((one): one is Manifest => one.kind !== undefined);

  it('name settings and ports that there are', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(['Deployment', 'Service']);
    const [deployment, service] = manifests;
    const container = deployment?.spec.template?.spec.containers[0];
    const unknown = container?.env.filter(({ name }) => !known.has(name));
    expect(unknown).toEqual([]);
    const defaults = new Set(
      [...known]
        .filter(([name]) => name.endsWith('_PORT'))
        .map(([, setting]) => Number(setting.defaultValue)),
    );
    for (const { containerPort } of container?.ports ?? []) expect(defaults).toContain(containerPort);
    const names = container?.ports.map(({ name }) => name);
    expect(service?.spec.ports?.map(({ targetPort }) => targetPort)).toEqual(names);
    expect(container?.livenessProbe.httpGet.path).toBe('/health');
    expect(container?.readinessProbe.httpGet.path).toBe('/ready');
  });

  it('set variables of the unit that there are', () => {
    const [unit = ''] = blocks('ini');
    const names = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name);
    expect(names).toEqual(['STORE_PATH']);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });
});
