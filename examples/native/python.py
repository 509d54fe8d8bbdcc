"""The native REST API with Python's standard library. Run: python examples/native/python.py"""

import base64
import json
import os
import urllib.request

API = os.environ.get("KUBEMQ_REST", "http://127.0.0.1:9090")


def ask(path, body):
    request = urllib.request.Request(
        f"{API}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["data"]


# Bodies travel in base64.
body = base64.b64encode(b"hello from Python").decode()
ask("/queue/send", {"ClientID": "example", "Channel": "example-python", "Body": body})
received = ask(
    "/queue/receive",
    {"ClientID": "example", "Channel": "example-python", "MaxNumberOfMessages": 1, "WaitTimeSeconds": 5},
)
for message in received.get("Messages", []):
    print("received:", base64.b64decode(message["Body"]).decode())
