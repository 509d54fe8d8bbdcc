/**
 * The texts of the contract. Clients and their tests compare them character by character, so the oddities (doubled spaces,
 * doubled words, trailing blanks, wrong words) are meant.
 */
export const TEXTS = {
  clientId: 'Error 101: invalid clientID value, cannot be empty',
  channelEmpty: 'Error 102: invalid channel value, cannot be empty',
  wildcards: 'Error 107: invalid channel value, no wildcards are allowed',
  whiteSpace: 'Error 108: invalid channel value, no white spaces are allowed',
  requestTimeoutValue: 'Error 109: invalid set timeout value, cannot be 0 or negative',
  messageEmpty: 'Error 110: invalid message, cannot be empty',
  subscriptionType: 'Error 111: invalid subscription type, cannot be undefined or 0',
  startSequence: 'Error 112: invalid subscription type start at sequence value, cannot by 0 or negative',
  startTime: 'Error 113: invalid subscription type start at time value, cannot by 0 or negative',
  startTimeDelta: 'Error 114: invalid subscription type start at time delta value, cannot by 0 or negative',
  requestEmpty: 'Error 115: invalid request, cannot be empty',
  cacheTtl: 'Error 116: invalid cache ttl value, cannot be 0 or negative',
  requestId: 'Error 117: invalid request id, cannot be empty',
  notEventStore: 'Error 118: event store parameters were set but subscribe type is not event store',
  trailingDot: 'Error 119: invalid channel value, cannot end with `.`',
  queueName:
    'Error 120: invalid queue name value, cannot be empty, contains wildcards ,white spaces and end with dot',
  maxMessages: 'Error 122: max messages should be between 1 and max message setting in kubemq config  ',
  ackFailed: 'Error 123: cannot ack the current message',
  noMessageToAck: 'Error 124: no active message to ack',
  ackSequence: 'Error 125: ack sequence cannot be 0 or negative',
  noMessageToSend: 'Error 126: no active message to send',
  visibility: 'Error 127: invalid visibility time, cannot be negative or exceed setting in kubemq config',
  alreadyReceiving: 'Error 128: subscription to queue is already active',
  visibilityExpired: 'Error 129: current visibility timer expired',
  sendFailed: 'Error 130: error during send message to queue',
  queueMessage: 'Error 131: invalid queue message',
  streamRequestType: 'Error 132: invalid stream queue messages request type',
  expiration: 'Error 133: invalid expiration seconds, exceed max expiration seconds setting in kubemq config',
  maxReceiveCount:
    'Error 134: invalid max received count, cannot be negative or exceed max receive count setting in kubemq config',
  delay: 'Error 135: invalid delay seconds, exceed max delay seconds setting in kubemq config',
  waitTimeout:
    'Error 136: invalid wait timeout, value cannot be negative or exceed max wait timeout seconds setting in kubemq config',
  noMessageToReject: 'Error 137: no active message to reject',
  noNewMessage: 'Error 138: no new message in queue, wait time expired',
  webSocketWrite: 'Error 203: error on write to web-socket',
  webSocketType: 'Error 204: invalid web-socket data type received, must be 1',
  webSocketClosed: 'Error 205: connection was closed by server',
  requestType: 'Error 206: invalid request type',
  subscribeType: 'Error 207: invalid subscribe type',
  requestTimeout: 'Error 301: timeout for request message',
  shutdown: 'Error 409: server is in shutdown mode',
  accessDenied: 'Error 412: access denied to resource',
  unauthenticated: 'Error 421: authentication verification failed, ',

  batchEmpty: 'empty messages batch',
  upstreamEmpty: 'no messages to send',
  transactionGone: 'transaction is completed or transaction id not found',
  requestUnknown: 'request unknown',
  requeueChannelEmpty: 'cannot requeue messages with empty channel destination ',
} as const;

/** Ours: the contract has no words for these. */
export const OWN_TEXTS = {
  managementUnknown: 'unknown request: metadata must be create-channel, delete-channel or list-channels',
  channelType: 'invalid channel type: must be events, events_store, commands, queries or queues',
  foreignChannel: (channel: string) => `channel ${channel} belongs to another protocol: delete it there`,
  tooManyChannels: 'too many channels: narrow them down with channel_search',
  searchTooLong: 'channel_search is too long',
  searchTooSlow: 'channel_search takes too long to match',
  nackDelay: 'polymq.delay-ms must be a whole number of milliseconds, 12 hours at most',
  streamOver: 'the stream is over: open a new one for the next message',
  tooManyGets: 'too many Get requests wait on this stream',
  tooManyTransactions: 'too many transactions are open on this stream',
  alreadySubscribed: (who: string, channel: string) =>
    `${who} is already subscribed to events store channel ${channel}`,
} as const;
