import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import type { FieldValue } from '../../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp } from '../../../support/raw-amqp.js';

/** What a probe does and reports; it begins with an open connection and channel 1. */
export type Probe = (one: RawAmqp, more: ProbeTools) => Promise<readonly string[]>;

export interface ProbeTools {
  /** Another connection, with channel 1 unless it is asked for without. */
  readonly another: (options?: Parameters<typeof RawAmqp.open>[1]) => Promise<RawAmqp>;
  /** A request to the management API; gives the status. */
  readonly manage: (method: string, path: string, input?: unknown) => Promise<string>;
  readonly port: number;
}

export const bindTo = { ticket: 0, nowait: false, arguments: EMPTY_TABLE };

export async function reopened(one: RawAmqp): Promise<void> {
  await one.call(1, 'channel.open', { reserved1: '' });
}

/** Answers to calls on channel 1, which is opened again when one of them closes it. */
export async function each(one: RawAmqp, calls: readonly (() => Promise<string>)[]): Promise<string[]> {
  const answers: string[] = [];
  for (const call of calls) {
    const answer = await call();
    answers.push(answer);
    if (answer.startsWith('CH ')) await reopened(one);
  }
  return answers;
}

/** What a queue gives once there is something. */
export async function until(one: RawAmqp, queue: string, noAck = true): Promise<string> {
  for (let i = 0; i < 200; i++) {
    const got = await one.get(queue, noAck);
    if (got.startsWith('get-ok')) return got;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return 'nothing came';
}

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
export const text = (value: string): FieldValue => ({ tag: 'S', value: Buffer.from(value) });
export const list = (...values: string[]): FieldValue => ({ tag: 'A', value: values.map(text) });
export const headers = (values: Readonly<Record<string, FieldValue>>) => ({
  properties: { headers: new Map(Object.entries(values)) },
});

/** An answer on a connection of its own, which the call may end. */
export async function alone(port: number, act: (two: RawAmqp) => Promise<string> | string): Promise<string> {
  const two = await RawAmqp.open(port);
  const answer = await act(two);
  await two.close();
  return answer;
}

/** What a passive declare says of a queue, once it counts so many messages: RabbitMQ's count may be a moment behind. */
export async function counted(raw: RawAmqp, queue: string, messages: number): Promise<string> {
  const says = (): Promise<string> => raw.declare(queue, { passive: true });
  let said = await says();
  for (let looks = 0; looks < 200 && !said.includes(` ${String(messages)} `); looks++) said = await says();
  return said;
}
