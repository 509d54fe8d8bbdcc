import type { Access } from '../../../core/access/resource.js';
import type { Collection } from '../resource-names.js';

/** What a permission of Google's stands for here; `sight`: any right will do. */
export type Meaning = Access | 'sight';

const OF_ALL = {
  create: 'write',
  delete: 'write',
  get: 'sight',
  getIamPolicy: 'sight',
  list: 'sight',
  setIamPolicy: 'write',
  update: 'write',
} as const;

/** Google's permissions on each kind of resource, without `pubsub.{collection}.` before them, as the rules for the methods have them. */
const PERMISSIONS: Readonly<Record<Collection, Readonly<Record<string, Meaning>>>> = {
  topics: {
    ...OF_ALL,
    attachSubscription: 'read',
    detachSubscription: 'write',
    publish: 'write',
    updateTag: 'write',
  },
  subscriptions: { ...OF_ALL, consume: 'read' },
  snapshots: { ...OF_ALL, seek: 'sight' },
  schemas: {
    ...OF_ALL,
    attach: 'sight',
    commit: 'write',
    listRevisions: 'sight',
    rollback: 'write',
    validate: 'sight',
  },
};

/** Undefined: no permission on resources of this kind. */
export function meaningOf(collection: string, permission: string): Meaning | undefined {
  const [service, kind = '', verb = '', ...rest] = permission.split('.');
  if (service !== 'pubsub' || kind !== collection || rest.length > 0) return undefined;
  const known = PERMISSIONS[kind as Collection];
  return Object.hasOwn(known, verb) ? known[verb] : undefined;
}
