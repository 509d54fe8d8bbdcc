import type { Operations } from '../unary.js';
import { commitSchema } from './commit-schema.js';
import { createSchema } from './create-schema.js';
import { deleteSchema } from './delete-schema.js';
import { deleteSchemaRevision } from './delete-schema-revision.js';
import { getSchema } from './get-schema.js';
import { listSchemaRevisions } from './list-schema-revisions.js';
import { listSchemas } from './list-schemas.js';
import type { SchemaServices } from './revisions.js';
import { rollbackSchema } from './rollback-schema.js';
import { validateMessage } from './validate-message.js';
import { validateSchema } from './validate-schema.js';

/** google.pubsub.v1.SchemaService. */
export function schemaOperations(services: SchemaServices): Operations {
  return {
    commitSchema: commitSchema(services),
    createSchema: createSchema(services),
    deleteSchema: deleteSchema(services),
    deleteSchemaRevision: deleteSchemaRevision(services),
    getSchema: getSchema(services),
    listSchemaRevisions: listSchemaRevisions(services),
    listSchemas: listSchemas(services),
    rollbackSchema: rollbackSchema(services),
    validateMessage: validateMessage(services),
    validateSchema: validateSchema(),
  };
}
