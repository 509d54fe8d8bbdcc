import { expect, it } from 'vitest';
import type { CommandSink } from '../../../src/connectors/amqp/wire/command-reader.js';
import { CommandReader } from '../../../src/connectors/amqp/wire/command-reader.js';
import { FrameParser } from '../../../src/connectors/amqp/wire/frame-parser.js';
import { encodeMethod } from '../../../src/connectors/amqp/wire/method-codec.js';
import { decodeProperties } from '../../../src/connectors/amqp/wire/properties.js';
import { ReplyError } from '../../../src/connectors/amqp/wire/reply.js';
import type { Random } from '../../support/random.js';
import { randomFrom } from '../../support/random.js';
import { contentFrames, frame, methodFrame, table } from '../../support/raw-amqp.js';

/** `POLYMQ_AMQP_FUZZ_FRAMES=10000000 POLYMQ_AMQP_FUZZ_SEED=random` explores. */
const FRAMES = Number(process.env['POLYMQ_AMQP_FUZZ_FRAMES'] ?? 50_000);
const { POLYMQ_AMQP_FUZZ_SEED: asked = '20261130' } = process.env;
const SEED = asked === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
const FRAMES_A_SECOND_MIN = 2_000;

const args = table({ 'x-max-length': 5, 'x-overflow': 'drop-head', 'x-flag': true, list: ['a', 'b'] });
const headers = table({ n: 1, text: 'text', flag: false, list: ['x'] });

/** Frames as clients send them, to be bent. */
const SEEDS: readonly Buffer[] = [
  methodFrame(1, 'queue.declare', {
    ticket: 0,
    queue: 'fuzz',
    passive: false,
    durable: true,
    exclusive: false,
    autoDelete: false,
    nowait: false,
    arguments: args,
  }),
  methodFrame(1, 'queue.bind', {
    ticket: 0,
    queue: 'fuzz',
    exchange: 'x',
    routingKey: 'k',
    nowait: false,
    arguments: args,
  }),
  methodFrame(1, 'basic.ack', { deliveryTag: 1, multiple: true }),
  frame(1, 0, encodeMethod('connection.close-ok', {})),
  frame(8, 0, Buffer.alloc(0)),
  Buffer.concat([
    methodFrame(2, 'basic.publish', {
      ticket: 0,
      exchange: 'x',
      routingKey: 'k',
      mandatory: true,
      immediate: false,
    }),
    contentFrames(2, Buffer.alloc(40, 1), { headers, deliveryMode: 2, messageId: 'm', timestamp: 1n }, 15),
  ]),
];

/** Looks into everything that was read, as the channels do. */
class Looker implements CommandSink {
  onMethod(): void {
    // Its arguments were decoded.
  }

  onPublish(...[, , properties]: Parameters<CommandSink['onPublish']>): void {
    decodeProperties(properties);
  }

  onOversize(): void {
    // Its body was left out.
  }

  onFault(caught: unknown): void {
    throw caught;
  }
}

/** A frame of a client, or one with some of its bytes, its length, or its end changed; now and then only noise. */
function bent(random: Random): Buffer {
  if (random.chance(0.05))
    return Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
  const bytes = Buffer.from(SEEDS[random.below(SEEDS.length)] as Buffer);
  if (random.chance(0.3)) return bytes;
  for (let i = random.below(4); i >= 0; i--) bytes[random.below(bytes.length)] = random.below(256);
  if (random.chance(0.1)) return bytes.subarray(0, random.below(bytes.length));
  return bytes;
}

const parserOf = (): FrameParser => new FrameParser(new CommandReader(new Looker(), 1 << 16));

it(
  `${FRAMES} frames, right and wrong: read, or refused with a code (seed ${SEED})`,
  () => {
    const random = randomFrom(SEED);
    const codes = new Map<number, number>();
    let parser = parserOf();
    for (let i = 0; i < FRAMES; i++) {
      const bytes = bent(random);
      const cut = random.below(bytes.length + 1);
      try {
        parser.push(bytes.subarray(0, cut));
        parser.push(bytes.subarray(cut));
      } catch (caught) {
        if (!(caught instanceof ReplyError)) {
          throw new Error(`frame ${i} of seed ${SEED}: ${bytes.toString('hex')}`, { cause: caught });
        }
        codes.set(caught.code, (codes.get(caught.code) ?? 0) + 1);
        parser = parserOf();
      }
    }
    // All kinds of refusal were met, and no other.
    expect([...codes.keys()].toSorted((a, b) => a - b)).toEqual([501, 502, 503, 505]);
  },
  60_000 + (FRAMES / FRAMES_A_SECOND_MIN) * 1000,
);
