"""What an unmodified pika client does and expects of the broker at 127.0.0.1:<first argument>."""

import sys

import pika
from pika.exceptions import ChannelClosedByBroker, NackError, UnroutableError

PORT = int(sys.argv[1])
PARAMETERS = pika.ConnectionParameters(
    "127.0.0.1", PORT, "/", pika.PlainCredentials("guest", "guest"), heartbeat=5
)


def blocking():
    connection = pika.BlockingConnection(PARAMETERS)
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("pika.work", durable=True)
    persistent = pika.BasicProperties(
        delivery_mode=2, headers={"n": 1, "s": "x", "none": None, "list": [1, "a"], "big": 2**40}
    )
    for n in range(50):
        channel.basic_publish("", "pika.work", b"%d" % n, persistent)
    try:
        channel.basic_publish("", "pika.nowhere", b"lost", mandatory=True)
        raise AssertionError("no return")
    except UnroutableError as error:
        assert error.messages[0].body == b"lost"
    assert channel.queue_declare("pika.work", passive=True).method.message_count == 50

    channel.basic_qos(prefetch_count=7)
    bodies = []
    for method, properties, body in channel.consume("pika.work", inactivity_timeout=5):
        assert method is not None, "nothing came"
        assert properties.headers == {"n": 1, "s": "x", "none": None, "list": [1, "a"], "big": 2**40}
        bodies.append(int(body))
        channel.basic_ack(method.delivery_tag)
        if len(bodies) == 50:
            break
    channel.cancel()
    assert bodies == list(range(50)), bodies

    channel.queue_declare("pika.full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    channel.basic_publish("", "pika.full", b"1")
    try:
        channel.basic_publish("", "pika.full", b"2")
        raise AssertionError("no nack")
    except NackError:
        pass

    channel.basic_publish("", "pika.work", b"again", persistent)
    method, _, body = channel.basic_get("pika.work")
    channel.basic_nack(method.delivery_tag, requeue=True)
    method, _, body = channel.basic_get("pika.work")
    assert method.redelivered and body == b"again"
    channel.basic_recover(requeue=True)
    assert channel.queue_purge("pika.work").method.message_count == 1
    channel.queue_delete("pika.work")
    channel.queue_delete("pika.full")
    try:
        channel.queue_declare("pika.work", passive=True)
        raise AssertionError("still there")
    except ChannelClosedByBroker as error:
        assert error.reply_code == 404, error
    # Long enough for heartbeats in both directions to matter.
    connection.process_data_events(time_limit=3)
    assert connection.is_open
    connection.close()


def asynchronous():
    seen = []

    def on_message(channel, method, properties, body):
        seen.append(body)
        channel.basic_ack(method.delivery_tag, multiple=True)
        if len(seen) == 20:
            channel.connection.close()

    def on_bound(channel, queue):
        channel.basic_consume(queue, on_message)
        for n in range(20):
            channel.basic_publish("pika.fan", "", b"%d" % n)

    def on_queue(channel, frame):
        queue = frame.method.queue
        channel.queue_bind(queue, "pika.fan", callback=lambda _: on_bound(channel, queue))

    def on_exchange(channel):
        channel.queue_declare("", exclusive=True, callback=lambda frame: on_queue(channel, frame))

    def on_channel(channel):
        channel.exchange_declare(
            "pika.fan", "fanout", auto_delete=True, callback=lambda _: on_exchange(channel)
        )

    def on_closed(connection, reason):
        assert reason.reply_code == 200, reason
        connection.ioloop.stop()

    connection = pika.SelectConnection(
        PARAMETERS,
        on_open_callback=lambda c: c.channel(on_open_callback=on_channel),
        on_close_callback=on_closed,
    )
    connection.ioloop.start()
    assert len(seen) == 20, seen


blocking()
asynchronous()
print("ok")
