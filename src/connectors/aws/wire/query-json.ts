import type { AwsFault } from './fault.js';
import { faultSide } from './fault.js';
import type { MapShape, Shape, StructureShape } from './shape.js';
import type { XmlAnswer } from './xml.js';

/*
 * Answers of the Query protocol to clients that accept JSON, API Gateway's integrations among them: the structure of the XML
 * with null for what is absent. Two lists of SQS have other names there.
 */

const LIST_NAMES: Readonly<Record<string, string>> = { Messages: 'messages', QueueUrls: 'queueUrls' };

/** Whether the value of an Accept header names JSON. */
export function acceptsJson(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes('application/json') === true;
}

export function writeQueryJsonAnswer(answer: Omit<XmlAnswer, 'namespace'>): string {
  const { operation, output, result, requestId } = answer;
  return JSON.stringify({
    [`${operation}Response`]: {
      ...(output !== undefined && { [`${operation}Result`]: structureOf(result, output) }),
      ResponseMetadata: { RequestId: requestId },
    },
  });
}

export function writeQueryJsonFault(fault: AwsFault, requestId: string): string {
  return JSON.stringify({
    Error: { Code: fault.kind.code, Message: fault.queryMessage, Type: faultSide(fault) },
    RequestId: requestId,
  });
}

function structureOf(value: unknown, shape: StructureShape): Record<string, unknown> {
  const given = asObject(value);
  const out: Record<string, unknown> = {};
  for (const [name, field] of shape.entries) {
    out[field.kind === 'list' ? (LIST_NAMES[name] ?? name) : name] = valueOf(given[name], field);
  }
  return out;
}

function valueOf(value: unknown, shape: Shape): unknown {
  if (value === undefined) return null;
  switch (shape.kind) {
    case 'scalar':
      return value;
    case 'structure':
      return structureOf(value, shape);
    case 'list':
      return (value as readonly unknown[]).map((item) => valueOf(item, shape.item));
    case 'map':
      return mapOf(asObject(value), shape);
  }
}

/** The maps of SQS are lists of names and values on this wire, as in the XML; those of SNS are objects. */
function mapOf(map: Readonly<Record<string, unknown>>, shape: MapShape): unknown {
  const entries = Object.entries(map).map(([key, value]) => [key, valueOf(value, shape.value)] as const);
  return shape.flat === undefined
    ? Object.fromEntries(entries)
    : entries.map(([key, value]) => ({ [shape.keyName]: key, [shape.valueName]: value }));
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
