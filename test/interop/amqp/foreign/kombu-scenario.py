"""kombu, unmodified: python kombu-scenario.py PORT. Ends with `ok`."""

import sys

from kombu import Connection, Consumer, Exchange, Producer, Queue

# Confirmed, so that what was published is in the queue when it is counted.
options = {"confirm_publish": True}
connection = Connection(f"amqp://guest:guest@127.0.0.1:{sys.argv[1]}//", transport_options=options)
channel = connection.channel()
exchange = Exchange("kombu.x", "topic", durable=True)
queue = Queue("kombu.q", exchange, routing_key="a.#", max_priority=5, expires=60)(channel)
queue.declare()

producer = Producer(channel, exchange)
for priority in (1, 5):
    producer.publish(
        {"n": priority}, routing_key="a.b", priority=priority, serializer="json", compression="zlib", expiration=20
    )
producer.publish({"n": 9}, routing_key="other")
assert queue.queue_declare(passive=True).message_count == 2

got = []


def on_message(body, message):
    got.append(body["n"])
    message.ack()


with Consumer(channel, [queue], callbacks=[on_message], prefetch_count=1) as consumer:
    consumer.qos(prefetch_count=10, apply_global=True)
    while len(got) < 2:
        connection.drain_events(timeout=5)
assert got == [5, 1], got

simple = connection.SimpleQueue("kombu.simple")
simple.put({"deep": [1, None, "é"]})
message = simple.get(timeout=5)
assert message.payload == {"deep": [1, None, "é"]}
message.ack()
simple.consumer.cancel()
simple.queue.delete()
simple.close()

queue.delete()
exchange(channel).delete()
connection.release()
print("ok")
