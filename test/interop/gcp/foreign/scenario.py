"""Google's Python client (google-cloud-pubsub) against a broker: prints what it saw as one line of JSON."""

import json
import os
import queue
import sys
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import datetime, timezone

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.protobuf import duration_pb2, field_mask_pb2
from google.pubsub_v1.types import Encoding, Schema

os.environ["PUBSUB_EMULATOR_HOST"] = sys.argv[1]
PROJECT = "python"
WAIT = 60

publisher = pubsub_v1.PublisherClient(
    publisher_options=pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
)
subscriber = pubsub_v1.SubscriberClient()
seen = {}


def topic_of(name):
    return publisher.topic_path(PROJECT, name)


def subscription_of(name):
    return subscriber.subscription_path(PROJECT, name)


def make(name, **more):
    topic = publisher.create_topic(name=topic_of(name))
    subscriber.create_subscription(
        request={"name": subscription_of(name), "topic": topic.name, **more}
    )
    return topic.name, subscription_of(name)


def code_of(call):
    try:
        call()
    except exceptions.GoogleAPICallError as error:
        return error.grpc_status_code.name
    return "OK"


def receive(subscription, count, settle):
    """Takes `count` messages from a stream; `settle` is called for each."""
    got = queue.Queue()
    stream = subscriber.subscribe(subscription, callback=got.put)
    taken = []
    try:
        while len(taken) < count:
            message = got.get(timeout=WAIT)
            taken.append(message)
            settle(message, len(taken))
    finally:
        stream.cancel()
        try:
            stream.result(timeout=WAIT)
        except FutureTimeout:
            pass
    return taken


# Order of a key, and acknowledgements that are certain.
topic, subscription = make(
    "ordered", enable_message_ordering=True, enable_exactly_once_delivery=True
)
for number in range(20):
    publisher.publish(topic, str(number).encode(), ordering_key="key", number=str(number)).result(WAIT)
confirmed = []
taken = receive(
    subscription, 20, lambda message, _: confirmed.append(message.ack_with_response().result(WAIT).name)
)
seen["ordered"] = [message.data.decode() for message in taken]
seen["confirmed"] = sorted(set(confirmed))
seen["again"] = [
    code_of(lambda: subscriber.acknowledge(subscription=subscription, ack_ids=[taken[0].ack_id])),
    code_of(lambda: subscriber.acknowledge(subscription=subscription, ack_ids=["invented"])),
]

# What is given back comes again, in its order.
for number in range(3):
    publisher.publish(topic, f"back {number}".encode(), ordering_key="key").result(WAIT)
taken = receive(
    subscription,
    4,
    lambda message, nth: message.nack() if nth == 1 else message.ack_with_response().result(WAIT),
)
seen["back"] = [message.data.decode() for message in taken]

# Dead letters.
letters, letters_subscription = make("letters")
topic, subscription = make(
    "hard", dead_letter_policy={"dead_letter_topic": letters, "max_delivery_attempts": 5}
)
publisher.publish(topic, b"poison", kind="bad").result(WAIT)
attempts = receive(subscription, 5, lambda message, _: message.nack())
seen["attempts"] = [message.delivery_attempt for message in attempts]
[letter] = receive(letters_subscription, 1, lambda message, _: message.ack())
seen["letter"] = [
    letter.data.decode(),
    letter.attributes["kind"],
    letter.attributes["CloudPubSubDeadLetterSourceDeliveryCount"],
    letter.attributes["CloudPubSubDeadLetterSourceSubscription"],
]

# Filters.
topic, subscription = make("filtered", filter='attributes.colour = "red"')
for colour in ["red", "blue", "red"]:
    publisher.publish(topic, colour.encode(), colour=colour).result(WAIT)
pulled = subscriber.pull(subscription=subscription, max_messages=10, timeout=WAIT).received_messages
seen["filtered"] = [received.message.data.decode() for received in pulled]

# Snapshots, seeks.
topic, subscription = make("sought", retain_acked_messages=True)
for letter in ["a", "b"]:
    publisher.publish(topic, letter.encode()).result(WAIT)


def drain():
    texts = []
    while True:
        received = subscriber.pull(
            subscription=subscription, max_messages=10, return_immediately=True, timeout=WAIT
        ).received_messages
        if not received:
            return texts
        texts += [one.message.data.decode() for one in received]
        subscriber.acknowledge(subscription=subscription, ack_ids=[one.ack_id for one in received])


snapshot = subscriber.snapshot_path(PROJECT, "moment")
subscriber.create_snapshot(name=snapshot, subscription=subscription)
seen["drained"] = drain()
subscriber.seek(request={"subscription": subscription, "snapshot": snapshot})
seen["snapshot"] = drain()
subscriber.seek(request={"subscription": subscription, "time": datetime(2020, 1, 1, tzinfo=timezone.utc)})
seen["replayed"] = drain()

# Schemas.
schemas = pubsub_v1.SchemaServiceClient()
avro = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "int"}],
}
schema = schemas.create_schema(
    parent=f"projects/{PROJECT}",
    schema=Schema(type_=Schema.Type.AVRO, definition=json.dumps(avro)),
    schema_id="point",
)
topic = publisher.create_topic(
    request={
        "name": topic_of("points"),
        "schema_settings": {"schema": schema.name, "encoding": Encoding.JSON},
    }
).name
seen["schema"] = [
    code_of(lambda: publisher.publish(topic, b'{"x": 1}').result(WAIT)),
    code_of(lambda: publisher.publish(topic, b'{"x": "one"}').result(WAIT)),
]

# Administration.
updated = subscriber.update_subscription(
    request={
        "subscription": {
            "name": subscription,
            "message_retention_duration": duration_pb2.Duration(seconds=3600),
            "labels": {"who": "python"},
        },
        "update_mask": field_mask_pb2.FieldMask(paths=["message_retention_duration", "labels"]),
    }
)
seen["updated"] = [updated.message_retention_duration.total_seconds(), dict(updated.labels)]
seen["codes"] = [
    code_of(lambda: publisher.create_topic(name=topic_of("sought"))),
    code_of(lambda: publisher.get_topic(topic=topic_of("missing"))),
    code_of(lambda: publisher.create_topic(name=topic_of("a b"))),
    code_of(lambda: subscriber.pull(subscription=subscription, max_messages=0)),
    code_of(lambda: publisher.detach_subscription(request={"subscription": subscription})),
    code_of(lambda: subscriber.pull(subscription=subscription, max_messages=1)),
]
names = {topic.name for topic in publisher.list_topics(project=f"projects/{PROJECT}")}
seen["listed"] = sorted(name.rsplit("/", 1)[1] for name in names)
subscriber.close()
print(json.dumps(seen))
