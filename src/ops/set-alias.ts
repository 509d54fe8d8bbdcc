import type { Broker } from '../core/broker-api.js';
import { channelName } from '../core/channel-name.js';
import { BrokerError } from '../core/errors.js';

/**
 * Makes `alias` another name of `channel`; nothing happens when it already is. When it is another channel's name it is taken
 * over with `replace`, else refused with `already-exists`.
 */
export async function setAlias(
  broker: Broker,
  names: { alias: string; channel: string; replace?: boolean },
): Promise<void> {
  const alias = channelName(names.alias);
  const channel = channelName(names.channel);
  const known = broker.aliases().find((one) => one.alias === alias);
  if (known?.channel === broker.resolve(channel)) return;
  if (known !== undefined && names.replace !== true) {
    throw new BrokerError(
      'already-exists',
      `${alias} is already an alias of ${known.channel}; remove it first`,
    );
  }
  await broker.change([{ do: 'set-alias', alias, channel }]);
}
