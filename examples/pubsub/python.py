"""Pub/Sub with Google's own client: PUBSUB_EMULATOR_HOST is all it needs.

Run: pip install google-cloud-pubsub && python examples/pubsub/python.py
"""

import os

os.environ.setdefault("PUBSUB_EMULATOR_HOST", "127.0.0.1:8085")

from google.api_core.exceptions import AlreadyExists
from google.cloud import pubsub_v1

publisher = pubsub_v1.PublisherClient()
subscriber = pubsub_v1.SubscriberClient()
topic = publisher.topic_path("example", "example-python")
subscription = subscriber.subscription_path("example", "example-python")
try:
    publisher.create_topic(name=topic)
    subscriber.create_subscription(name=subscription, topic=topic)
except AlreadyExists:
    pass

publisher.publish(topic, b"hello from Python").result()
pulled = subscriber.pull(subscription=subscription, max_messages=10, timeout=10)
for received in pulled.received_messages:
    print("received:", received.message.data.decode())
    # What is not acknowledged comes again after the acknowledgement deadline.
    subscriber.acknowledge(subscription=subscription, ack_ids=[received.ack_id])
