import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { FloodGuard } from './flood-guard.js';
import {
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSettings,
  encodeWindowUpdate,
  FrameParser,
  SETTINGS_ACK,
  uint31,
  uint32,
  type FrameSink,
} from './frames.js';
import { HeaderBlocks, type HeaderBlock } from './header-blocks.js';
import { HpackDecoder, type HeaderList } from './hpack-decoder.js';
import { KeepAlive } from './keep-alive.js';
import type { Http2Limits } from './limits.js';
import { Outbox } from './outbox.js';
import { readSettings } from './peer-settings.js';
import {
  ConnectionError,
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  Flag,
  FrameType,
  Setting,
  WINDOW_BYTES_MAX,
} from './protocol.js';
import { areRegular, requestHead, type RequestHead } from './request-head.js';
import { RecentIds } from './recent-ids.js';
import { Http2Stream, type StreamPort, type StreamServer } from './stream.js';

export interface Http2ConnectionOptions {
  readonly socket: Socket;
  readonly limits: Http2Limits;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * A new request. What it returns serves the stream from now on; undefined when it has been answered already. `head` is the
   * same object for requests whose fields are all the same.
   */
  readonly open: (stream: Http2Stream, head: RequestHead) => StreamServer | undefined;
}

const STREAM_IDS_MAX = 0x7fff_ffff;
const PING_BYTES = 8;
const DRAIN_PING = Buffer.from('draining', 'latin1');

/** The server's side of one HTTP/2 connection (RFC 9113), after the preface. */
export class Http2Connection implements FrameSink, StreamPort {
  readonly limits: Http2Limits;
  readonly outbox: Outbox;
  readonly blocked = new Set<Http2Stream>();
  initialSendWindow = DEFAULT_WINDOW_BYTES;
  sendWindow = DEFAULT_WINDOW_BYTES;
  pendingBytes = 0;
  readonly #options: Http2ConnectionOptions;
  readonly #socket: Socket;
  readonly #parser: FrameParser;
  readonly #headerBlocks: HeaderBlocks;
  readonly #decoder: HpackDecoder;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #resetByUs = new RecentIds();
  readonly #controls: FloodGuard;
  readonly #resets: FloodGuard;
  readonly #keepAlive: KeepAlive;
  #lastList: HeaderList | undefined;
  #lastHead: RequestHead | undefined;
  #lastStreamId = 0;
  #receiveWindow: number;
  #unannounced = 0;
  #hasSettings = false;
  #drain: 'no' | 'announced' | 'final' = 'no';
  #drainTimer: Timer | undefined;
  #isClosing = false;

  constructor(options: Http2ConnectionOptions) {
    const { socket, limits, clock } = options;
    this.#options = options;
    this.limits = limits;
    this.#socket = socket;
    this.outbox = new Outbox(socket, () => this.#taken());
    this.#parser = new FrameParser(this, limits.frameBytesMax);
    this.#headerBlocks = new HeaderBlocks(limits);
    this.#decoder = new HpackDecoder({
      tableBytesMax: limits.headerTableBytes,
      listBytesMax: limits.headerListBytesMax,
    });
    this.#controls = new FloodGuard(clock, limits.controlFramesPerSecondMax);
    this.#resets = new FloodGuard(clock, limits.resetsPerSecondMax);
    this.#keepAlive = new KeepAlive(limits, clock.now());
    this.#receiveWindow = limits.connectionWindowBytes;
    this.outbox.append(
      encodeSettings([
        [Setting.maxConcurrentStreams, limits.streamsMax],
        [Setting.initialWindowSize, limits.streamWindowBytes],
        [Setting.maxHeaderListSize, limits.headerListBytesMax],
      ]),
    );
    this.outbox.append(encodeWindowUpdate(0, limits.connectionWindowBytes - DEFAULT_WINDOW_BYTES));
  }

  /** Running calls. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Takes what the socket read. Never throws. */
  read(chunk: Buffer): void {
    if (this.#isClosing) return;
    this.#keepAlive.heard();
    try {
      this.#parser.push(chunk);
    } catch (caught) {
      if (!(caught instanceof ConnectionError)) {
        this.#options.log.error('HTTP/2 connection failed', { error: String(caught) });
      }
      const isKnown = caught instanceof ConnectionError;
      this.#close(isKnown ? caught.code : ErrorCode.internalError, isKnown ? caught.message : '');
      return;
    }
    if (this.outbox.pendingBytes > this.limits.socketPendingBytesMax) this.#socket.pause();
  }

  /** Looks for a silent peer. To be called about once a second. */
  tick(now: number): void {
    switch (this.#keepAlive.tick(now, this.#hasSettings)) {
      case 'ask':
        this.outbox.append(encodePing(Buffer.alloc(PING_BYTES), false));
        break;
      case 'gone':
        this.#socket.destroy();
        break;
      case 'late':
        this.#close(ErrorCode.settingsTimeout, 'no SETTINGS in time');
        break;
      case 'nothing':
        break;
    }
  }

  /**
   * Takes no new streams and closes when the last one ends. The peer is told in two steps (RFC 9113, section 6.8), so that
   * what it has sent meanwhile is still served.
   */
  drain(): void {
    if (this.#isClosing || this.#drain !== 'no') return;
    this.#drain = 'announced';
    this.outbox.append(encodeGoaway(STREAM_IDS_MAX, ErrorCode.noError, ''));
    this.outbox.append(encodePing(DRAIN_PING, false));
    const { drainRoundTripMs } = this.limits;
    this.#drainTimer = this.#options.clock.after(drainRoundTripMs, () => this.#endDrain());
  }

  /** The socket is gone: ends every stream. */
  gone(): void {
    this.#isClosing = true;
    this.#drainTimer?.cancel();
    for (const stream of [...this.#streams.values()]) stream.abort(ErrorCode.cancel);
  }

  data(streamId: number, piece: Buffer, flowBytes: number, isEnd: boolean): void {
    if (this.#isClosing) return;
    if (!this.#hasSettings) throw notSettings();
    this.#expectNoBlock();
    const stream = this.#streams.get(streamId);
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) throw new ConnectionError(ErrorCode.flowControlError, 'window exceeded');
    if (flowBytes === 0 && !isEnd) this.#countControl();
    if (stream === undefined || stream.remoteEnded) {
      this.consumed(flowBytes);
      this.#strayData(streamId, stream);
      return;
    }
    if (!stream.received(flowBytes)) {
      this.#fault(stream, ErrorCode.flowControlError);
      return;
    }
    if (stream.bodyBytesLeft !== undefined) {
      stream.bodyBytesLeft -= piece.length;
      if (stream.bodyBytesLeft < 0 || (isEnd && stream.bodyBytesLeft > 0)) {
        this.#fault(stream, ErrorCode.protocolError);
        return;
      }
    }
    if (isEnd) stream.remoteEnded = true;
    if (stream.server === undefined) stream.consumed(flowBytes);
    else if (flowBytes > 0) stream.server.onData(piece, flowBytes);
    if (isEnd && !stream.isOver) stream.server?.onEnd();
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#isClosing) return;
    if (!this.#hasSettings && (type !== FrameType.settings || (flags & Flag.ack) !== 0)) {
      throw notSettings();
    }
    if (type !== FrameType.continuation) this.#expectNoBlock();
    switch (type) {
      case FrameType.headers:
        this.#block(this.#headerBlocks.headers(flags, clientStream(streamId), payload));
        return;
      case FrameType.continuation:
        this.#block(this.#headerBlocks.continuation(flags, streamId, payload));
        return;
      case FrameType.windowUpdate:
        this.#windowUpdate(streamId, payload);
        return;
      case FrameType.rstStream:
        this.#rstStream(clientStream(streamId), payload);
        return;
      case FrameType.priority:
        this.#priority(clientStream(streamId), payload);
        return;
      case FrameType.settings:
        this.#settings(flags, streamId, payload);
        return;
      case FrameType.ping:
        this.#ping(flags, streamId, payload);
        return;
      case FrameType.goaway:
        if (streamId !== 0) throw new ConnectionError(ErrorCode.protocolError, 'GOAWAY on a stream');
        return;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocolError, 'PUSH_PROMISE from a client');
    }
  }

  consumed(bytes: number): void {
    this.#unannounced += bytes;
    if (this.#unannounced * 2 < this.limits.connectionWindowBytes || this.#isClosing) return;
    this.#receiveWindow += this.#unannounced;
    this.outbox.append(encodeWindowUpdate(0, this.#unannounced));
    this.#unannounced = 0;
  }

  done(stream: Http2Stream, isReset: boolean): void {
    this.#streams.delete(stream.id);
    if (isReset) this.#resetByUs.add(stream.id);
    if (this.#streams.size === 0 && this.#drain === 'final' && !this.#isClosing) this.#end();
  }

  #expectNoBlock(): void {
    if (this.#headerBlocks.isOpen) {
      throw new ConnectionError(ErrorCode.protocolError, 'a header block was not continued');
    }
  }

  #block(block: HeaderBlock | undefined): void {
    if (block === undefined) return;
    // Each block is decoded, wanted or not: the table depends on it.
    const list = this.#decoder.decode(block.bytes);
    const stream = this.#streams.get(block.streamId);
    if (stream !== undefined) {
      this.#trailers(stream, block, list);
      return;
    }
    if (block.streamId <= this.#lastStreamId) {
      if (this.#resetByUs.has(block.streamId)) return;
      throw new ConnectionError(ErrorCode.streamClosed, 'HEADERS on a closed stream');
    }
    this.#lastStreamId = block.streamId;
    this.#open(block, list);
  }

  #open(block: HeaderBlock, list: HeaderList): void {
    const { streamId } = block;
    const head = this.#headOf(list);
    if (head === undefined || block.isSelfDependent || (block.isEnd && (head.contentLength ?? 0) > 0)) {
      this.#refuse(streamId, ErrorCode.protocolError);
      return;
    }
    const isFull =
      this.#streams.size >= this.limits.streamsMax ||
      this.pendingBytes > this.limits.connectionPendingBytesMax;
    if (isFull || this.#drain === 'final') {
      this.#refuse(streamId, ErrorCode.refusedStream);
      return;
    }
    const stream = new Http2Stream(streamId, this);
    stream.remoteEnded = block.isEnd;
    stream.bodyBytesLeft = head.contentLength;
    this.#streams.set(streamId, stream);
    stream.server = this.#options.open(stream, head);
    if (block.isEnd && !stream.isOver) stream.server?.onEnd();
  }

  #headOf(list: HeaderList): RequestHead | undefined {
    if (list !== this.#lastList) {
      this.#lastHead = requestHead(list);
      this.#lastList = list;
    }
    return this.#lastHead;
  }

  #trailers(stream: Http2Stream, block: HeaderBlock, list: HeaderList): void {
    if (stream.remoteEnded) {
      this.#fault(stream, ErrorCode.streamClosed);
      return;
    }
    const isShort = (stream.bodyBytesLeft ?? 0) > 0;
    if (!block.isEnd || isShort || block.isSelfDependent || !areRegular(list.fields)) {
      this.#fault(stream, ErrorCode.protocolError);
      return;
    }
    stream.remoteEnded = true;
    stream.server?.onEnd();
  }

  #rstStream(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    this.#expectNotIdle(streamId);
    this.#countReset();
    this.#streams.get(streamId)?.abort(uint32(payload, 0));
  }

  #priority(streamId: number, payload: Buffer): void {
    this.#countControl();
    if (payload.length !== 5) this.#faultOf(streamId, ErrorCode.frameSizeError);
    else if (uint31(payload, 0) === streamId) this.#faultOf(streamId, ErrorCode.protocolError);
  }

  #settings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.protocolError, 'SETTINGS on a stream');
    if ((flags & Flag.ack) !== 0) {
      expectLength(payload, 0);
      return;
    }
    this.#countControl();
    this.#hasSettings = true;
    this.initialSendWindow = readSettings(payload) ?? this.initialSendWindow;
    this.outbox.append(SETTINGS_ACK);
    this.#pump();
  }

  #ping(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.protocolError, 'PING on a stream');
    expectLength(payload, PING_BYTES);
    if ((flags & Flag.ack) === 0) {
      this.#countControl();
      this.outbox.append(encodePing(payload, true));
    } else if (this.#drain === 'announced' && payload.equals(DRAIN_PING)) this.#endDrain();
  }

  #windowUpdate(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const bytes = uint31(payload, 0);
    if (streamId === 0) {
      if (bytes === 0) throw new ConnectionError(ErrorCode.protocolError, 'WINDOW_UPDATE of nothing');
      this.sendWindow += bytes;
      if (this.sendWindow > WINDOW_BYTES_MAX) {
        throw new ConnectionError(ErrorCode.flowControlError, 'window too large');
      }
      this.#pump();
      return;
    }
    this.#expectNotIdle(clientStream(streamId));
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (bytes === 0) this.#fault(stream, ErrorCode.protocolError);
    else if (!stream.widen(bytes)) this.#fault(stream, ErrorCode.flowControlError);
  }

  #expectNotIdle(streamId: number): void {
    if (streamId > this.#lastStreamId) {
      throw new ConnectionError(ErrorCode.protocolError, 'a frame on a stream that was not opened');
    }
  }

  #strayData(streamId: number, stream: Http2Stream | undefined): void {
    this.#expectNotIdle(clientStream(streamId));
    if (stream !== undefined) this.#fault(stream, ErrorCode.streamClosed);
    else if (!this.#resetByUs.has(streamId)) this.#refuse(streamId, ErrorCode.streamClosed);
  }

  /** The peer broke the rules of one stream. */
  #fault(stream: Http2Stream, code: number): void {
    this.#countReset();
    stream.reset(code);
  }

  #faultOf(streamId: number, code: number): void {
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) this.#fault(stream, code);
    else this.#refuse(streamId, code);
  }

  #refuse(streamId: number, code: number): void {
    this.#countReset();
    this.#resetByUs.add(streamId);
    this.outbox.append(encodeRstStream(streamId, code));
  }

  #countControl(): void {
    if (!this.#controls.allows())
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many control frames');
  }

  #countReset(): void {
    if (!this.#resets.allows()) throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many resets');
  }

  /** Sends what waits, a frame of each stream in turn. */
  #pump(): void {
    for (let moved = this.blocked.size > 0; moved;) {
      moved = false;
      for (const stream of this.blocked) if (stream.pump()) moved = true;
    }
  }

  #taken(): void {
    // A peer that reads is there.
    this.#keepAlive.heard();
    this.#pump();
    if (this.#socket.isPaused() && this.outbox.pendingBytes * 2 <= this.limits.socketPendingBytesMax) {
      this.#socket.resume();
    }
  }

  #endDrain(): void {
    if (this.#drain !== 'announced' || this.#isClosing) return;
    this.#drain = 'final';
    this.#drainTimer?.cancel();
    this.outbox.append(encodeGoaway(this.#lastStreamId, ErrorCode.noError, ''));
    if (this.#streams.size === 0) this.#end();
  }

  #close(code: number, debug: string): void {
    if (this.#isClosing) return;
    this.outbox.append(encodeGoaway(this.#lastStreamId, code, debug));
    this.#end();
    this.gone();
  }

  /** Sends what is left and closes. The peer should be first, so that it reads all of it. */
  #end(): void {
    this.#isClosing = true;
    this.#drainTimer?.cancel();
    this.outbox.close();
    this.#socket.resume();
    this.#options.clock.after(this.limits.lingerMs, () => this.#socket.destroy());
  }
}

/** The id of a stream that clients may open. */
function clientStream(streamId: number): number {
  if (streamId % 2 === 0) throw new ConnectionError(ErrorCode.protocolError, `frame on stream ${streamId}`);
  return streamId;
}

function notSettings(): ConnectionError {
  return new ConnectionError(ErrorCode.protocolError, 'the first frame is not SETTINGS');
}

function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length) throw new ConnectionError(ErrorCode.frameSizeError, 'frame of wrong size');
}
