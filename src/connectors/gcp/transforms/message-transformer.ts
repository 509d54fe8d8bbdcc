import { isUtf8 } from 'node:buffer';
import { GCP_LIMITS } from '../config.js';
import type { MessageTransform } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import type { Sandbox } from './sandbox.js';
import { udfOf } from './transform-check.js';

/** A message as functions see it. */
export interface TransformedParts {
  readonly data: Uint8Array;
  readonly attributes: ReadonlyMap<string, string>;
}

/** What functions are told beside the message; absent where it is not known yet. */
export interface TransformMetadata {
  readonly messageId?: string;
  /** Unix ms. */
  readonly publishTime?: number;
  readonly orderingKey: string;
}

export type TransformOutcome =
  | { readonly kind: 'message'; readonly message: TransformedParts }
  | { readonly kind: 'filtered' }
  | { readonly kind: 'failed'; readonly reason: string };

/** Applies the transforms that are not disabled, in their order; one outcome each, up to the first that is no message. */
export async function transformSteps(
  sandbox: Sandbox,
  transforms: readonly MessageTransform[],
  start: { readonly message: TransformedParts; readonly metadata: TransformMetadata },
): Promise<readonly TransformOutcome[]> {
  const outcomes: TransformOutcome[] = [];
  let { message } = start;
  for (const transform of transforms) {
    if (transform.disabled) continue;
    const outcome = await transformOnce(sandbox, transform, { message, metadata: start.metadata });
    outcomes.push(outcome);
    if (outcome.kind !== 'message') break;
    message = outcome.message;
  }
  return outcomes;
}

async function transformOnce(
  sandbox: Sandbox,
  transform: MessageTransform,
  { message, metadata }: { readonly message: TransformedParts; readonly metadata: TransformMetadata },
): Promise<TransformOutcome> {
  const { functionName: name, code } = udfOf(transform);
  const failed = (reason: string): TransformOutcome => ({
    kind: 'failed',
    reason: `JavaScript UDF '${name}': ${reason}`,
  });
  const { data, attributes } = message;
  if (!isUtf8(data)) return failed('the data is no UTF-8 text');
  const input = JSON.stringify([
    {
      data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString(),
      attributes: Object.fromEntries(attributes),
    },
    metadataOf(metadata),
  ]);
  const result = await sandbox.run({ fn: { name, code }, input });
  if (result.kind === 'failed') return failed(result.reason);
  try {
    const value = resultOf(result.json, attributes);
    return value === undefined ? { kind: 'filtered' } : { kind: 'message', message: value };
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function metadataOf({
  messageId,
  publishTime,
  orderingKey,
}: TransformMetadata): Readonly<Record<string, string>> {
  return {
    ...(messageId === undefined ? {} : { message_id: messageId }),
    ...(publishTime === undefined
      ? {}
      : { publish_time: `${new Date(publishTime).toISOString().slice(0, 19)}Z` }),
    ...(orderingKey === '' ? {} : { ordering_key: orderingKey }),
  };
}

/** Reads what a function returned; undefined = filtered. Attributes that it left out altogether stay as they were. */
function resultOf(json: string, before: ReadonlyMap<string, string>): TransformedParts | undefined {
  // `JSON.stringify(undefined)` of the thread.
  if (json === 'undefined') throw new Error('it must return a message or null');
  const value = JSON.parse(json) as unknown;
  if (value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('it must return a message or null');
  const { data, attributes } = value as { readonly data?: unknown; readonly attributes?: unknown };
  if (typeof data !== 'string') throw new Error("it must return a message whose 'data' is a string");
  const parts = {
    data: Buffer.from(data),
    attributes: attributes === undefined ? before : attributesOf(attributes),
  };
  if (parts.data.length === 0 && parts.attributes.size === 0) throw new Error('it returned an empty message');
  return parts;
}

function attributesOf(value: unknown): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error("it must return a message whose 'attributes' are a map");
  }
  const { attributesMax, attributeKeyBytesMax, attributeValueBytesMax } = GCP_LIMITS;
  const attributes = new Map<string, string>();
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new Error(`the attribute '${key}' must be a string`);
    const bytes = Buffer.byteLength(key);
    if (bytes === 0 || bytes > attributeKeyBytesMax || Buffer.byteLength(text) > attributeValueBytesMax) {
      throw new Error(`the attribute '${key.slice(0, 100)}' is too long`);
    }
    if (key.startsWith('goog') && !key.startsWith('googclient_')) {
      throw new Error(`the attribute '${key.slice(0, 100)}' begins with "goog"`);
    }
    attributes.set(key, text);
  }
  if (attributes.size > attributesMax) throw new Error(`it returned more than ${attributesMax} attributes`);
  return attributes;
}
