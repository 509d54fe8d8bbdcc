"""What the scenarios share: clients of the endpoint in the first argument, and a transcript of steps made comparable."""

import json
import re
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

settings = dict(
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="secret",
    config=Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=30),
)
sqs = boto3.client("sqs", **settings)
sns = boto3.client("sns", **settings)

transcript = {}


def comparable(value):
    """Takes off what differs between any two servers: hosts, accounts, regions, ids, handles, times."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in sorted(value.items()) if key != "ResponseMetadata"}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, str):
        return value
    # Ids first: the last part of one in 280 is twelve digits, like an account.
    value = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", value)
    value = re.sub(r"https?://[^/\"\s]+", "URL", value)
    value = re.sub(r"\b\d{12}\b", "ACCOUNT", value)
    value = re.sub(r"arn:aws:(sqs|sns):[a-z0-9-]+:", r"arn:aws:\1:REGION:", value)
    return re.sub(r"\b\d{20}\b", "NUMBER", value)


def step(name, call, show=lambda answer: answer):
    """Notes what a call came to, or how it was refused."""
    try:
        answer = call()
        transcript[name] = comparable(show(answer))
        return answer
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        transcript[name] = [error.response["Error"]["Code"], status]
    except ResponseParserError as error:
        transcript[name] = type(error).__name__
    return None


def text(value):
    return {"DataType": "String", "StringValue": value}


def show():
    print(json.dumps(transcript))
