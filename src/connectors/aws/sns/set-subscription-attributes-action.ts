import { BrokerError } from '../../../core/errors.js';
import { SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { scalars } from '../wire/shape.js';
import { subscriptionKeyOf } from './arn.js';
import { checkFilterCount } from './filter-limits.js';
import { replayChanges } from './replay-progress.js';
import { withSubscriptionAttribute } from './subscription-attributes.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;

/** SetSubscriptionAttributes: one attribute a call; an empty value takes it back. */
export const setSubscriptionAttributes = operation({
  name: 'SetSubscriptionAttributes',
  input: scalars('SubscriptionArn', 'AttributeName', 'AttributeValue'),
  output: undefined,
  async run(call) {
    const { broker, topics, clock, ids, replays } = call.services;
    const name = optionalText(call.input, 'AttributeName') ?? '';
    const value = optionalText(call.input, 'AttributeValue') ?? '';
    for (let attempt = 1; ; attempt++) {
      const subscription = topics.findSubscription(subscriptionKeyOf(call.input));
      if (subscription === undefined) throw new AwsFault(SNS_FAULTS.notFound, 'Subscription does not exist');
      const { key, record, version, filter } = subscription;
      const { topic, protocol, endpoint } = record;
      const attributes = withSubscriptionAttribute(
        record.attributes,
        { name, value, prefix: '' },
        {
          topicFifo: topics.find(topic)?.fifo === true,
          protocol,
          endpoint,
          archived: topics.find(topic)?.archives === true,
          now: clock.now(),
        },
      );
      if (filter === undefined && attributes['FilterPolicy'] !== undefined) checkFilterCount(topics, topic);
      const begins = name === 'ReplayPolicy' && attributes[name] !== undefined;
      const ends = name === 'ReplayPolicy' && !begins && record.replay !== undefined;
      if (begins && record.replay === undefined) replays.checkRoom();
      // Setting a policy begins anew, whether or not it is the one that was there.
      const replay = begins ? ({ id: ids.uuid(), status: 'Pending' } as const) : record.replay;
      const changed = { ...record, attributes, replay: ends ? undefined : replay };
      try {
        await broker.change([
          { do: 'put', kind: SUBSCRIPTION_KIND, key, value: changed, expected: version },
          ...(begins || ends ? replayChanges(key, begins) : []),
        ]);
        return;
      } catch (error) {
        if (BrokerError.from(error).kind !== 'precondition' || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  },
});
