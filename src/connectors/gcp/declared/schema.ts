import { z } from 'zod';

/** Topics and subscriptions as the REST API has them; what their fields may be is the operations' business. */
const resource = z.record(z.string(), z.json());

export const declaredTopics = z
  .array(resource.and(z.looseObject({ name: z.string().min(1) })))
  .readonly()
  .default([])
  .describe(
    'Topics that are made at every start unless they are there: `name` (an id, or in full) and the fields of the REST API. ' +
      'Fields named here are set again when they differ.',
  )
  .meta({ declarations: true });

export const declaredSubscriptions = z
  .array(resource.and(z.looseObject({ name: z.string().min(1), topic: z.string().min(1) })))
  .readonly()
  .default([])
  .describe(
    'Subscriptions that are made at every start unless they are there: `name`, `topic` (ids, or in full) and the fields of ' +
      'the REST API. Fields named here are set again when they differ.',
  )
  .meta({ declarations: true });
