import type { Clock, Timer } from '../../../base/clock.js';
import { AMQP_LIMITS } from '../config.js';

/** What heartbeats look at and do. */
export interface HeartbeatLine {
  /** Octets so far, in each direction. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** We read nothing on purpose: silence says nothing about the peer. */
  readonly paused: boolean;
  /** Writes one now: the octets count as written when it returns. */
  sendHeartbeat(): void;
  onDeadPeer(): void;
}

/** Looks in one interval. Two would be too few: nearly a whole interval could pass, and some clients wait no longer. */
const TICKS_PER_INTERVAL = 4;
const IDLE_TICKS = TICKS_PER_INTERVAL / 2;
const SILENT_TICKS_MAX = TICKS_PER_INTERVAL * 2;

/**
 * Sends a heartbeat when nothing was written for half an interval, and reports the peer dead when nothing was read for two.
 * One timer a connection; traffic costs nothing, because the socket's own counters are compared.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #line: HeartbeatLine;
  readonly #tickMs: number;
  #timer: Timer | undefined;
  #read = 0;
  #written = 0;
  #silentTicks = 0;
  #idleTicks = 0;

  /** `intervalSeconds` as the client set it in tune-ok; 0 = none. */
  constructor(clock: Clock, line: HeartbeatLine, intervalSeconds: number) {
    this.#clock = clock;
    this.#line = line;
    this.#tickMs = Math.max((intervalSeconds * 1000) / TICKS_PER_INTERVAL, AMQP_LIMITS.heartbeatTickMsMin);
    if (intervalSeconds > 0) this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#read = this.#line.bytesRead;
    this.#written = this.#line.bytesWritten;
    this.#timer = this.#clock.after(this.#tickMs, () => this.#tick());
  }

  #tick(): void {
    const line = this.#line;
    if (line.bytesRead !== this.#read || line.paused) this.#silentTicks = 0;
    else this.#silentTicks++;
    if (this.#silentTicks >= SILENT_TICKS_MAX) {
      line.onDeadPeer();
      return;
    }
    if (line.bytesWritten === this.#written) this.#idleTicks++;
    else this.#idleTicks = 0;
    if (this.#idleTicks >= IDLE_TICKS) {
      this.#idleTicks = 0;
      line.sendHeartbeat();
    }
    this.#arm();
  }
}
