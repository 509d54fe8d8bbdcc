"""AMQP with pika, unchanged. Run: pip install pika && python examples/amqp/python.py"""

import os

import pika

connection = pika.BlockingConnection(
    pika.URLParameters(os.environ.get("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/%2F"))
)
channel = connection.channel()
channel.queue_declare("example-python", durable=True)
# With confirms, publishing returns when the broker has it on disk.
channel.confirm_delivery()
channel.basic_publish("", "example-python", b"hello from Python", pika.BasicProperties(delivery_mode=2))

method, _, body = channel.basic_get("example-python")
if method:
    print("received:", body.decode())
    channel.basic_ack(method.delivery_tag)
connection.close()
