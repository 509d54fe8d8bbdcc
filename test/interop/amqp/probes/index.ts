import { ARGUMENTS_PROBES } from './arguments.js';
import { CONSUMERS_PROBES } from './consumers.js';
import { DEAD_LETTERS_PROBES } from './dead-letters.js';
import { DEFAULT_QUEUE_TYPES_PROBES } from './default-queue-types.js';
import { ENDS_OF_MESSAGES_PROBES } from './ends-of-messages.js';
import { EXCHANGE_TYPES_PROBES } from './exchange-types.js';
import { EXCHANGES_PROBES } from './exchanges.js';
import { BOUNDS_OF_NOTHING_PROBES } from './bounds-of-nothing.js';
import { QUEUE_LIMITS_PROBES } from './queue-limits.js';
import { FRAMES_PROBES } from './frames.js';
import { HAND_OVER_PROBES } from './hand-over.js';
import { LIMITS_PROBES } from './limits.js';
import { PERMISSIONS_PROBES } from './permissions.js';
import { REPORTS_PROBES } from './reports.js';
import { ROUTING_PROBES } from './routing.js';
import { PROTOCOL_PROBES } from './protocol.js';
import { DELIVERIES_PROBES } from './deliveries.js';
import { MESSAGES_PROBES } from './messages.js';
import type { Probe } from './probe.js';
import { QUORUM_PROBES } from './quorum.js';
import { REFUSALS_PROBES } from './refusals.js';
import { REPLIES_PROBES } from './replies.js';
import { STREAMS_PROBES } from './streams.js';
import { TRANSACTIONS_PROBES } from './transactions.js';

/** Cases of the AMQP dialect, told as answers on the wire. */
export const PROBES: Readonly<Record<string, Probe>> = {
  ...REFUSALS_PROBES,
  ...MESSAGES_PROBES,
  ...EXCHANGE_TYPES_PROBES,
  ...ENDS_OF_MESSAGES_PROBES,
  ...TRANSACTIONS_PROBES,
  ...REPLIES_PROBES,
  ...CONSUMERS_PROBES,
  ...EXCHANGES_PROBES,
  ...DEAD_LETTERS_PROBES,
  ...QUEUE_LIMITS_PROBES,
  ...BOUNDS_OF_NOTHING_PROBES,
  ...ROUTING_PROBES,
  ...PROTOCOL_PROBES,
  ...DELIVERIES_PROBES,
  ...QUORUM_PROBES,
  ...DEFAULT_QUEUE_TYPES_PROBES,
  ...STREAMS_PROBES,
  ...HAND_OVER_PROBES,
  ...LIMITS_PROBES,
  ...PERMISSIONS_PROBES,
  ...REPORTS_PROBES,
  ...ARGUMENTS_PROBES,
  ...FRAMES_PROBES,
};
