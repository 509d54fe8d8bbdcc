import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer } from '../../support/server.js';
import { watchState, type StateWatch } from './broker-state.js';

export type Kind = 'Queues' | 'EventsStore' | 'Events' | 'Commands' | 'Queries';

/** Something that rules must allow. `Sight`: to read or to write, whichever. */
export interface Right {
  readonly kind: Kind;
  readonly access: 'Read' | 'Write' | 'Sight';
  readonly channel: string;
}

/** One operation of a wire. */
export interface PolicyCase {
  /** As in the connector's table of operations. */
  readonly operation: string;
  /** Tells rows of one operation apart. */
  readonly what?: string;
  /** Exactly these, and no more. Empty: everybody may. */
  readonly needs: readonly Right[];
  /** Makes what the operation is about; everything is allowed. */
  readonly prepare?: () => Promise<void>;
  /** Resolves when it was done; rejects with `Denied` when its answer is the refusal. */
  readonly run: () => Promise<unknown>;
  /** Something goes on by itself meanwhile, so that a refusal cannot be told by an unchanged broker. */
  readonly restless?: boolean;
}

/** The refusal as its wire has it. */
export class Denied extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super(`denied: ${JSON.stringify(answer)}`);
    this.answer = answer;
  }
}

export const right = (kind: Kind, access: Right['access'], channel: string): Right => ({
  kind,
  access,
  channel,
});

const ALL_KINDS = { Queues: true, EventsStore: true, Events: true, Commands: true, Queries: true };
const EVERYTHING = { ClientID: '.*', Channel: '.*', ...ALL_KINDS, Read: true, Write: true };

function ruleOf({ kind, access, channel }: Right) {
  const Channel = channel.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return { ClientID: '.*', Channel, [kind]: true, [access]: true };
}

/** A broker with rules and without tokens: clients are who they say. */
export interface RuledServer {
  readonly running: RunningBroker;
  readonly state: StateWatch;
  /** From now on only this is allowed. */
  allow(rights: readonly Right[]): void;
  allowAll(): void;
  /** Everything with channels of this pattern. */
  allowMatching(Channel: string): void;
}

export function useRuledServer(): () => RuledServer {
  const folder = temporaryFolder();
  const filePath = join(folder.path, 'policy.json');
  let server: RuledServer | undefined;
  const replace = (rules: readonly unknown[]): void => {
    writeFileSync(filePath, JSON.stringify(rules));
    server?.running.reload();
  };
  beforeAll(async () => {
    replace([EVERYTHING]);
    const running = await startServer({
      config: {
        authorization: { enable: true, filePath, autoReload: 0 },
        connectors: { amqp: { managementEnable: true, managementPort: 0 } },
      },
    });
    server = {
      running,
      state: watchState(running),
      allow: (rights) => replace(rights.map(ruleOf)),
      allowAll: () => replace([EVERYTHING]),
      allowMatching: (Channel) => replace([{ ...EVERYTHING, Channel }]),
    };
  });
  afterAll(async () => {
    await server?.running.stop();
    folder.remove();
  });
  return () => {
    if (server === undefined) throw new Error('the broker did not start');
    return server;
  };
}

/** Every way to satisfy the rights: sight comes with reading, and with writing. */
function satisfying(needs: readonly Right[]): readonly (readonly Right[])[] {
  if (!needs.some(({ access }) => access === 'Sight')) return [needs];
  return (['Read', 'Write'] as const).map((access) =>
    needs.map((need) => (need.access === 'Sight' ? { ...need, access } : need)),
  );
}

/** A policy that lacks the right, and has every other one to the same channel that is not it. */
function without(needs: readonly Right[], missing: Right): readonly Right[] {
  const others = needs
    .filter((need) => need !== missing)
    .map((need) => (need.access === 'Sight' ? { ...need, access: 'Read' as const } : need));
  const { kind, access, channel } = missing;
  // Of another kind, of another name, and of the other access.
  const near: Right[] = [
    right(kind, 'Read', `${channel}-other`),
    right(kind, 'Write', `${channel}-other`),
    ...(['Queues', 'EventsStore'] as const)
      .filter((other) => other !== kind)
      .flatMap((other) => [right(other, 'Read', channel), right(other, 'Write', channel)]),
  ];
  const needed = new Set(needs.filter((need) => need.kind === kind && need.channel === channel));
  if (access !== 'Sight' && needed.size === 1)
    near.push(right(kind, access === 'Read' ? 'Write' : 'Read', channel));
  return [...others, ...near];
}

/** For every operation: refused in its wire's words without each of the rights, with nothing changed, and done with exactly them. */
export function testCases(
  server: () => RuledServer,
  cases: readonly PolicyCase[],
  refusal: (operation: string, missing: Right) => unknown,
): void {
  for (const one of cases) {
    const title = one.what === undefined ? one.operation : `${one.operation} (${one.what})`;
    for (const missing of one.needs) {
      it(`${title}: refused without ${missing.access} on ${missing.kind} ${missing.channel}`, async () => {
        server().allowAll();
        await one.prepare?.();
        server().allow(without(one.needs, missing));
        const before = server().state.now();
        const error = await one.run().then(
          () => undefined,
          (caught: unknown) => caught,
        );
        if (!(error instanceof Denied)) throw new Error('it was not refused', { cause: error });
        expect(error.answer).toEqual(refusal(one.operation, missing));
        if (one.restless !== true) expect(server().state.now()).toEqual(before);
      });
    }
    it(`${title}: done with what it needs`, async () => {
      for (const rights of satisfying(one.needs)) {
        server().allowAll();
        await one.prepare?.();
        server().allow(rights);
        await one.run();
      }
    });
  }
}

/** No operation of the source is without a row. */
export function testComplete(cases: readonly PolicyCase[], operations: Iterable<string>): void {
  it('every operation has a row', () => {
    const rows = new Set(cases.map(({ operation }) => operation));
    expect([...rows].sort()).toEqual([...new Set(operations)].sort());
  });
}
