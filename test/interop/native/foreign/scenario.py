"""The Python SDK (kubemq 4) against a broker: prints what it saw as one line of JSON."""

import json
import os
import sys
import time

from kubemq.common.cancellation_token import CancellationToken
from kubemq.cq import Client as CQClient
from kubemq.cq import (
    CommandMessage,
    CommandResponse,
    CommandsSubscription,
    QueriesSubscription,
    QueryMessage,
    QueryResponse,
)
from kubemq.pubsub import Client as PubSubClient
from kubemq.pubsub import (
    EventMessage,
    EventsStoreSubscription,
    EventsSubscription,
    EventStoreMessage,
    EventStoreStartPosition,
)
from kubemq.queues import Client as QueuesClient
from kubemq.queues import QueueMessage

address = sys.argv[1]
pubsub = PubSubClient(address=address, client_id="python")
cq = CQClient(address=address, client_id="python")
queues = QueuesClient(address=address, client_id="python")
end = CancellationToken()
seen = {}


def wait_for(is_true):
    until = time.time() + 10
    while not is_true() and time.time() < until:
        time.sleep(0.01)


seen["version"] = pubsub.ping().version
seen["channels"] = []
for kind, client in [
    ("events", pubsub),
    ("events_store", pubsub),
    ("commands", cq),
    ("queries", cq),
    ("queues", queues),
]:
    name = "python." + kind
    created = getattr(client, f"create_{kind}_channel")(name)
    listed = [channel.name for channel in getattr(client, f"list_{kind}_channels")("^python")]
    deleted = getattr(client, f"delete_{kind}_channel")(name)
    seen["channels"].append([created, listed, deleted])

events = []
pubsub.subscribe_to_events(
    EventsSubscription(channel="e.*", on_receive_event_callback=events.append), end
)
time.sleep(0.5)
pubsub.send_event(EventMessage(channel="e.1", body=b"x", metadata="m", tags={"a": "b"}))
wait_for(lambda: events)
seen["event"] = [[e.channel, e.body.decode(), e.metadata, e.tags.get("a")] for e in events]
for body in [b"1", b"2"]:
    pubsub.send_event_store(EventStoreMessage(channel="s", body=body))
stored = []
pubsub.subscribe_to_events_store(
    EventsStoreSubscription(
        channel="s",
        events_store_type=EventStoreStartPosition.StartFromFirst,
        on_receive_event_callback=stored.append,
    ),
    end,
)
wait_for(lambda: len(stored) == 2)
seen["stored"] = [[e.sequence, e.body.decode()] for e in stored]

cq.subscribe_to_commands(
    CommandsSubscription(
        channel="c",
        on_receive_command_callback=lambda command: cq.send_response_message(
            CommandResponse(command_received=command, is_executed=False, error="no")
        ),
    ),
    end,
)
cq.subscribe_to_queries(
    QueriesSubscription(
        channel="q",
        on_receive_query_callback=lambda query: cq.send_response_message(
            QueryResponse(query_received=query, is_executed=True, body=query.body.upper())
        ),
    ),
    end,
)
time.sleep(0.5)
command = cq.send_command(CommandMessage(channel="c", body=b"x", timeout_in_seconds=10))
seen["command"] = [command.is_executed, command.error]
query = {"channel": "q", "body": b"x", "timeout_in_seconds": 10, "cache_key": "k", "cache_ttl_in_seconds": 60}
seen["query"] = [cq.send_query(QueryMessage(**query)).body.decode() for _ in range(2)]

queues.send_queue_message(QueueMessage(channel="jobs", body=b"1", tags={"k": "v"}))
queues.send_queue_messages_batch([QueueMessage(channel="jobs", body=body) for body in [b"2", b"3"]])
poll = queues.receive_queue_messages(channel="jobs", max_messages=2, wait_timeout_in_seconds=5)
poll.messages[0].ack()
poll.messages[1].nack()
seen["poll"] = [[m.body.decode(), m.receive_count] for m in poll.messages]
time.sleep(0.3)
rest = queues.receive_queue_messages(channel="jobs", max_messages=9, wait_timeout_in_seconds=5, auto_ack=True)
seen["rest"] = [[m.body.decode(), m.receive_count] for m in rest.messages]
print(json.dumps(seen), flush=True)
os._exit(0)
