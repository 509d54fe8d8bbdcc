import { z } from 'zod';

/** Attributes as people write them: numbers and booleans bare, policies as structures. */
const attributes = z
  .record(
    z.string(),
    z.union([z.string(), z.number(), z.boolean(), z.record(z.string(), z.unknown())]).transform(textOf),
  )
  .default({});

const tags = z.record(z.string(), z.string()).default({});

/** A queue of the configuration file. */
const declaredQueue = z.strictObject({
  name: z.string().min(1),
  attributes,
  tags,
  /** In short what RedrivePolicy says. */
  deadLetter: z
    .strictObject({ queue: z.string().min(1), maxReceiveCount: z.number().int().min(1).max(1_000) })
    .optional(),
});

const declaredSubscription = z
  .strictObject({
    queue: z.string().min(1).optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    attributes,
  })
  .refine(({ queue, url }) => (queue === undefined) !== (url === undefined), 'needs either queue or url');

/** A topic of the configuration file. */
const declaredTopic = z.strictObject({
  name: z.string().min(1),
  attributes,
  tags,
  subscriptions: z.array(declaredSubscription).default([]),
});

export type DeclaredQueue = z.output<typeof declaredQueue>;
export type DeclaredTopic = z.output<typeof declaredTopic>;
export type DeclaredSubscription = z.output<typeof declaredSubscription>;

export const declaredQueues = z
  .array(declaredQueue)
  .readonly()
  .default([])
  .describe(
    'Queues that are made at every start unless they are there: `name`, `attributes`, `tags`, `deadLetter` (`queue`, ' +
      '`maxReceiveCount`). The attributes and tags named here are set again when they differ.',
  )
  .meta({ declarations: true });

export const declaredTopics = z
  .array(declaredTopic)
  .readonly()
  .default([])
  .describe(
    'Topics that are made at every start unless they are there: `name`, `attributes`, `tags` and `subscriptions`, each to ' +
      'a `queue` or a `url`, with `attributes`.',
  )
  .meta({ declarations: true });

function textOf(value: string | number | boolean | Readonly<Record<string, unknown>>): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
