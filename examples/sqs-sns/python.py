"""SQS with boto3: only the endpoint differs. Run: pip install boto3 && python examples/sqs-sns/python.py"""

import os

import boto3

sqs = boto3.client(
    "sqs",
    endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566"),
    region_name="us-east-1",
    # Any pair will do, unless the broker was given credentials.
    aws_access_key_id="any",
    aws_secret_access_key="any",
)

url = sqs.create_queue(QueueName="example-python")["QueueUrl"]
sqs.send_message(QueueUrl=url, MessageBody="hello from Python")
for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages", []):
    print("received:", message["Body"])
    # Deleting says that it was dealt with; else it comes again after the visibility timeout.
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
