import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommandReader } from './command-reader.js';
import type { CommandSink, PublishMethod } from './command-reader.js';
import { FrameParser } from './frame-parser.js';
import { FRAME_END, HEARTBEAT_FRAME } from './frames.js';
import { FrameWriter } from './frame-writer.js';
import { encodeMethod } from './method-codec.js';
import type { Method } from './methods.js';
import { encodeProperties } from './properties.js';
import { ReplyError } from './reply.js';

const FRAME_MAX = 4096;

class Recorder implements CommandSink {
  readonly seen: string[] = [];
  readonly methods: Method[] = [];

  onMethod(channel: number, method: Method): void {
    this.methods.push(method);
    this.seen.push(`${String(channel)} ${method.name} ${JSON.stringify(method.args)}`);
  }

  onPublish(channel: number, publish: PublishMethod, properties: Buffer, body: Buffer): void {
    const { exchange, routingKey } = publish.args;
    this.seen.push(
      `${String(channel)} publish ${exchange}/${routingKey} ${properties.toString('hex')} ${body.toString('hex')}`,
    );
  }

  onFault(caught: unknown): void {
    throw caught;
  }

  onOversize(channel: number, _publish: PublishMethod, size: number): void {
    this.seen.push(`${String(channel)} oversize ${String(size)}`);
  }
}

function reader(bodyMax = 1 << 20): { parser: FrameParser; sink: Recorder } {
  const sink = new Recorder();
  const parser = new FrameParser(new CommandReader(sink, bodyMax));
  parser.setFrameMax(FRAME_MAX);
  return { parser, sink };
}

function frame(type: number, channel: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(7);
  head[0] = type;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([FRAME_END])]);
}

function header(size: number, properties = encodeProperties({ deliveryMode: 2 })): Buffer {
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(60, 0);
  fixed.writeUInt32BE(size, 8);
  return Buffer.concat([fixed, properties]);
}

const publishMethod = (routingKey: string): Buffer =>
  encodeMethod('basic.publish', { ticket: 0, exchange: 'x', routingKey, mandatory: false, immediate: false });

function publish(channel: number, routingKey: string, body: Buffer, split = FRAME_MAX - 8): Buffer {
  const frames = [frame(1, channel, publishMethod(routingKey)), frame(2, channel, header(body.length))];
  for (let at = 0; at < body.length; at += split)
    frames.push(frame(3, channel, body.subarray(at, at + split)));
  return Buffer.concat(frames);
}

const STREAM = Buffer.concat([
  frame(1, 1, encodeMethod('channel.open', { reserved1: '' })),
  publish(1, 'k', Buffer.from('hello')),
  HEARTBEAT_FRAME,
  publish(2, 'k', Buffer.alloc(0)),
  publish(1, 'k', Buffer.alloc(10_000, 7), 3000),
  // Two channels' frames in turns, and an empty body frame.
  frame(1, 3, publishMethod('a')),
  frame(1, 4, publishMethod('b')),
  frame(2, 3, header(4)),
  frame(2, 4, header(2)),
  frame(3, 3, Buffer.from('ab')),
  frame(3, 4, Buffer.from('yz')),
  frame(3, 3, Buffer.alloc(0)),
  frame(3, 3, Buffer.from('cd')),
  frame(1, 1, encodeMethod('basic.ack', { deliveryTag: 9, multiple: true })),
]);

function whole(): readonly string[] {
  const { parser, sink } = reader();
  parser.push(STREAM);
  return sink.seen;
}

function codeOf(...frames: Buffer[]): number {
  const { parser } = reader();
  try {
    for (const bytes of frames) parser.push(bytes);
  } catch (caught) {
    if (caught instanceof ReplyError) return caught.code;
    throw caught;
  }
  return 200;
}

describe('command reader', () => {
  it('reads commands from one chunk', () => {
    const p = encodeProperties({ deliveryMode: 2 }).toString('hex');
    expect(whole()).toEqual([
      '1 channel.open {"reserved1":""}',
      `1 publish x/k ${p} ${Buffer.from('hello').toString('hex')}`,
      `2 publish x/k ${p} `,
      `1 publish x/k ${p} ${'07'.repeat(10_000)}`,
      `4 publish x/b ${p} ${Buffer.from('yz').toString('hex')}`,
      `3 publish x/a ${p} ${Buffer.from('abcd').toString('hex')}`,
      '1 basic.ack {"deliveryTag":9,"multiple":true}',
    ]);
  });

  it('reads the same one byte at a time', () => {
    const { parser, sink } = reader();
    for (let i = 0; i < STREAM.length; i++) parser.push(STREAM.subarray(i, i + 1));
    expect(sink.seen).toEqual(whole());
  });

  it('reads the same cut anywhere', () => {
    const expected = whole();
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length }), { maxLength: 12 }), (cuts) => {
        const { parser, sink } = reader();
        let from = 0;
        for (const cut of [...cuts.sort((a, b) => a - b), STREAM.length]) {
          parser.push(STREAM.subarray(from, cut));
          from = cut;
        }
        expect(sink.seen).toEqual(expected);
      }),
    );
  });

  it('never throws anything but a ReplyError on garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(STREAM.length), (garbage, at) => {
        const { parser } = reader();
        try {
          parser.push(STREAM.subarray(0, at));
          parser.push(Buffer.from(garbage));
        } catch (caught) {
          expect(caught).toBeInstanceOf(ReplyError);
        }
      }),
    );
  });

  it('refuses faulty frames with 501', () => {
    const bad = Buffer.from(HEARTBEAT_FRAME);
    bad[7] = 0xcd;
    expect(codeOf(bad)).toBe(501);
    expect(codeOf(frame(4, 0, Buffer.alloc(0)))).toBe(501);
    expect(codeOf(frame(9, 0, Buffer.alloc(0)))).toBe(501);
    expect(codeOf(frame(8, 0, Buffer.alloc(1)))).toBe(501);
    expect(codeOf(frame(1, 1, Buffer.alloc(2)))).toBe(501);
    expect(codeOf(frame(3, 1, Buffer.alloc(FRAME_MAX + 1)).subarray(0, 7))).toBe(501);
    expect(
      codeOf(
        publish(1, 'k', Buffer.from('abc')),
        frame(1, 1, publishMethod('k')),
        frame(2, 1, header(1)),
        frame(3, 1, Buffer.alloc(2)),
      ),
    ).toBe(501);
  });

  it('refuses frames out of order with 505', () => {
    const method = frame(1, 1, publishMethod('k'));
    expect(codeOf(frame(8, 1, Buffer.alloc(0)))).toBe(505);
    expect(codeOf(frame(2, 1, header(1)))).toBe(505);
    expect(codeOf(frame(3, 1, Buffer.alloc(1)))).toBe(505);
    expect(codeOf(method, frame(3, 1, Buffer.alloc(1)))).toBe(505);
    expect(codeOf(method, method)).toBe(505);
    expect(codeOf(method, frame(2, 1, header(1)), method)).toBe(505);
    expect(codeOf(method, frame(2, 1, header(1)), frame(2, 1, header(1)))).toBe(505);
    const wrongClass = header(1);
    wrongClass.writeUInt16BE(50, 0);
    expect(codeOf(method, frame(2, 1, wrongClass))).toBe(505);
    const weight = header(1);
    weight.writeUInt16BE(1, 2);
    expect(codeOf(method, frame(2, 1, weight))).toBe(505);
  });

  it('drops bodies over the limit while they come, then says so', () => {
    const { parser, sink } = reader(5);
    parser.push(publish(1, 'k', Buffer.alloc(6), 2));
    parser.push(publish(1, 'k', Buffer.alloc(5), 2));
    expect(sink.seen).toEqual(['1 oversize 6', expect.stringContaining('1 publish')]);
  });
});

describe('frame writer', () => {
  const content = {
    route: Buffer.from('\x01x\x01k', 'latin1'),
    properties: encodeProperties({ deliveryMode: 2 }),
    body: Buffer.from('hi'),
  };

  it('writes golden bytes of a delivery', () => {
    const writer = new FrameWriter();
    writer.deliver(1, Buffer.from('\x02c1', 'latin1'), 3, true, content);
    expect(Buffer.concat(writer.take()).toString('hex')).toBe(
      '01000100000014' +
        '003c003c' +
        '026331' +
        '0000000000000003' +
        '01' +
        '0178' +
        '016b' +
        'ce' +
        '0200010000000f' +
        '003c0000' +
        '0000000000000002' +
        '1000' +
        '02' +
        'ce' +
        '03000100000002' +
        '6869' +
        'ce',
    );
    expect(writer.take()).toEqual([]);
  });

  it('splits bodies at frame-max minus 8 and never writes a larger frame', () => {
    for (const size of [0, 1, 4088, 4089, 8176, 100_000]) {
      const writer = new FrameWriter();
      writer.setFrameMax(FRAME_MAX);
      const body = Buffer.alloc(size, 5);
      writer.getOk(2, 1, false, 7, { ...content, body });
      writer.return(2, 312, 'NO_ROUTE', { ...content, body });
      writer.ack(2, 2 ** 33 + 1, true);
      writer.nack(2, 4);
      const bytes = Buffer.concat(writer.take());
      let at = 0;
      let bodyBytes = 0;
      const kinds: number[] = [];
      while (at < bytes.length) {
        const length = bytes.readUInt32BE(at + 3);
        expect(length + 8).toBeLessThanOrEqual(FRAME_MAX);
        expect(bytes[at + 7 + length]).toBe(FRAME_END);
        if (bytes[at] === 3) bodyBytes += length;
        else kinds.push(bytes.readUInt8(at));
        at += length + 8;
      }
      expect(at).toBe(bytes.length);
      expect(bodyBytes).toBe(2 * size);
      expect(kinds).toEqual([1, 2, 1, 2, 1, 1]);
    }
  });

  it('writes what the parser reads, whatever the sizes of its buffers', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 40 }), (sizes) => {
        const writer = new FrameWriter();
        writer.setFrameMax(FRAME_MAX);
        const sink = new Recorder();
        const parser = new FrameParser(new CommandReader(sink, 10));
        parser.setFrameMax(FRAME_MAX);
        for (const [i, size] of sizes.entries()) {
          writer.method(1, 'queue.declare-ok', {
            queue: 'q'.repeat(size % 200),
            messageCount: i,
            consumerCount: size,
          });
          if (size % 3 === 0) for (const bytes of writer.take()) parser.push(bytes);
        }
        for (const bytes of writer.take()) parser.push(bytes);
        expect(sink.methods.map((method) => method.args)).toEqual(
          sizes.map((size, i) => ({ queue: 'q'.repeat(size % 200), messageCount: i, consumerCount: size })),
        );
      }),
    );
  });
});
