import type { ChannelName } from '../../../core/channel-name.js';
import type { QueueStats } from '../../../core/queue/types.js';
import type { NativeService } from '../service.js';
import type { QueuesInfoRequest, QueuesInfoResponse } from '../wire/messages.js';

/** QueuesInfo: figures of the queues that are named, separated by `;`; of all queues when none is. Unknown names are left out. */
export function queuesInfo({ broker }: NativeService) {
  return async (request: QueuesInfoRequest): Promise<QueuesInfoResponse> => {
    const names =
      request.queueName === ''
        ? broker.queues('').map((channel) => ({ asked: channel, channel }))
        : [...new Set(request.queueName.split(';'))].map((asked) => ({
            asked,
            channel: asked as ChannelName,
          }));
    const queues = names.flatMap(({ asked, channel }) => {
      const stats = broker.queueStats(channel);
      return stats === undefined ? [] : [queueInfo(asked, stats)];
    });
    return {
      refRequestId: request.requestId,
      info: {
        totalQueue: queues.length,
        sent: sum(queues, 'sent'),
        delivered: sum(queues, 'delivered'),
        waiting: sum(queues, 'waiting'),
        queues,
      },
    };
  };
}

interface Info {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly sent: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly subscribers: number;
}

/** Messages are all that are stored; waiting are those that nobody holds. */
function queueInfo(name: string, stats: QueueStats): Info {
  return {
    name,
    messages: stats.ready + stats.delayed + stats.inFlight,
    bytes: stats.bytes,
    firstSequence: stats.firstSequence,
    lastSequence: stats.lastSequence,
    sent: stats.sent,
    delivered: stats.delivered,
    waiting: stats.ready + stats.delayed,
    subscribers: stats.consumers + stats.waiters,
  };
}

function sum(queues: readonly Info[], figure: 'sent' | 'delivered' | 'waiting'): number {
  return queues.reduce((total, queue) => total + queue[figure], 0);
}
