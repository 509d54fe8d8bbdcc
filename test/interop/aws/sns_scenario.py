"""One run through what SNS offers beside the plain publish, with boto3; prints what came back, made comparable, as JSON."""

import json

from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from transcript import show, sns, sqs, step, text, transcript


def arn_of(queue):
    return sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def bodies(queue):
    """Every body in the queue; takes them out."""
    found = []
    while True:
        messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        if not messages:
            return sorted(found)
        for message in messages:
            found.append(message["Body"])
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def number(value):
    return {"DataType": "Number", "StringValue": value}


# Topics: attributes, tags, permissions
t = step("create", lambda: sns.create_topic(Name="t", Tags=[{"Key": "a", "Value": "1"}]))["TopicArn"]
step("other tags", lambda: sns.create_topic(Name="t", Tags=[{"Key": "a", "Value": "2"}]))
step("attributes", lambda: sns.get_topic_attributes(TopicArn=t), lambda a: {k: a["Attributes"][k] for k in ("Owner", "DisplayName", "SubscriptionsConfirmed", "SubscriptionsPending")})
step("default delivery policy", lambda: sns.get_topic_attributes(TopicArn=t), lambda a: json.loads(a["Attributes"]["EffectiveDeliveryPolicy"]).get("http", {}).get("defaultHealthyRetryPolicy"))
step("set name", lambda: sns.set_topic_attributes(TopicArn=t, AttributeName="DisplayName", AttributeValue="D"))
step("name", lambda: sns.get_topic_attributes(TopicArn=t), lambda a: a["Attributes"]["DisplayName"])
step("tag", lambda: sns.tag_resource(ResourceArn=t, Tags=[{"Key": "b", "Value": "2"}]))
step("untag", lambda: sns.untag_resource(ResourceArn=t, TagKeys=["a"]))
step("tags", lambda: sns.list_tags_for_resource(ResourceArn=t))
step("tags of nothing", lambda: sns.list_tags_for_resource(ResourceArn=t + "x"))
step("allow", lambda: sns.add_permission(TopicArn=t, Label="l", AWSAccountId=["111111111111"], ActionName=["Publish"]))
step("allowed", lambda: sns.get_topic_attributes(TopicArn=t), lambda a: [s["Sid"] for s in json.loads(a["Attributes"]["Policy"])["Statement"]])
step("allow again", lambda: sns.add_permission(TopicArn=t, Label="l", AWSAccountId=["111111111111"], ActionName=["Publish"]))
step("disallow", lambda: sns.remove_permission(TopicArn=t, Label="l"))
step("attributes of nothing", lambda: sns.get_topic_attributes(TopicArn=t + "x"))

# Filter policies: which of these messages pass each
messages = {
    "none": {},
    "text": {"k": text("order-placed")},
    "other": {"o": text("x")},
    "five": {"k": number("5")},
    "big": {"k": number("100.5")},
    "array": {"k": {"DataType": "String.Array", "StringValue": '["a", "order-x"]'}},
    "address": {"k": text("10.0.0.7")},
}
policies = {
    "exact": ["order-placed"],
    "number": [5],
    "prefix": [{"prefix": "order-"}],
    "suffix": [{"suffix": "placed"}],
    "ignore case": [{"equals-ignore-case": "ORDER-PLACED"}],
    "anything but": [{"anything-but": ["order-placed", 5]}],
    "anything but prefix": [{"anything-but": {"prefix": "order-"}}],
    "equal": [{"numeric": ["=", 5]}],
    "range": [{"numeric": [">", 5, "<=", 200]}],
    "exists": [{"exists": True}],
    "exists not": [{"exists": False}],
}
for name, rules in policies.items():
    q = sqs.create_queue(QueueName="f-" + name.replace(" ", "-"))["QueueUrl"]
    attributes = {"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"k": rules})}
    f = sns.create_topic(Name="f-" + name.replace(" ", "-"))["TopicArn"]
    step("subscribe " + name, lambda: sns.subscribe(TopicArn=f, Protocol="sqs", Endpoint=arn_of(q), Attributes=attributes), lambda a: "SubscriptionArn" in a)
    for body, given in messages.items():
        try:
            sns.publish(TopicArn=f, Message=body, MessageAttributes=given)
        except (ClientError, ResponseParserError) as error:
            transcript["publish %s, filter %s" % (body, name)] = type(error).__name__
    step("filter " + name, lambda: bodies(q))
b = sns.create_topic(Name="body")["TopicArn"]
q = sqs.create_queue(QueueName="body")["QueueUrl"]
scoped = {"RawMessageDelivery": "true", "FilterPolicyScope": "MessageBody", "FilterPolicy": '{"o":{"k":["x",{"prefix":"y"}]}}'}
s = step("subscribe body", lambda: sns.subscribe(TopicArn=b, Protocol="sqs", Endpoint=arn_of(q), Attributes=scoped))["SubscriptionArn"]
for body in ('{"o":{"k":"x"}}', '{"o":{"k":"yes"}}', '{"o":{"k":"no"}}', '{"o":[{"k":"no"},{"k":"x"}]}', "text"):
    sns.publish(TopicArn=b, Message=body)
step("filter body", lambda: bodies(q))
step("read back", lambda: sns.get_subscription_attributes(SubscriptionArn=s), lambda a: {k: a["Attributes"].get(k) for k in ("FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "PendingConfirmation", "Protocol")})
bad = {
    "operator": '{"k":[{"nope":1}]}',
    "exists": '{"k":[{"exists":"x"}]}',
    "numeric": '{"k":[{"numeric":["=","0"]}]}',
    "string": '{"k":"x"}',
    "keys": json.dumps({k: [1] for k in "abcdef"}),
    "complex": json.dumps({"k": list(range(151))}),
    "json": "{",
}
for name, policy in bad.items():
    step("bad policy " + name, lambda: sns.subscribe(TopicArn=t, Protocol="sqs", Endpoint=arn_of(q), Attributes={"FilterPolicy": policy}))

# Structured messages and limits
q = sqs.create_queue(QueueName="structured")["QueueUrl"]
sns.subscribe(TopicArn=t, Protocol="sqs", Endpoint=arn_of(q), Attributes={"RawMessageDelivery": "true"})
step("structured", lambda: sns.publish(TopicArn=t, MessageStructure="json", Message='{"default":"d","sqs":"s"}'), lambda a: "MessageId" in a)
step("structured text", lambda: bodies(q))
step("no default", lambda: sns.publish(TopicArn=t, MessageStructure="json", Message='{"sqs":"s"}'))
step("too long", lambda: sns.publish(TopicArn=t, Message="x" * 262145))
step("bad subject", lambda: sns.publish(TopicArn=t, Message="x", Subject="x" * 101))
step("dedup on standard", lambda: sns.publish(TopicArn=t, Message="x", MessageDeduplicationId="d"))
step("eleven", lambda: sns.publish_batch(TopicArn=t, PublishBatchRequestEntries=[{"Id": str(i), "Message": "x"} for i in range(11)]))
step("twins", lambda: sns.publish_batch(TopicArn=t, PublishBatchRequestEntries=[{"Id": "a", "Message": "x"}] * 2))

# FIFO
step("fifo without suffix", lambda: sns.create_topic(Name="nofifo", Attributes={"FifoTopic": "true"}))
f = step("create fifo", lambda: sns.create_topic(Name="f.fifo", Attributes={"FifoTopic": "true", "ContentBasedDeduplication": "true"}))["TopicArn"]
step("fifo attributes", lambda: sns.get_topic_attributes(TopicArn=f), lambda a: {k: a["Attributes"].get(k) for k in ("FifoTopic", "ContentBasedDeduplication")})
q = sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
sns.subscribe(TopicArn=f, Protocol="sqs", Endpoint=arn_of(q), Attributes={"RawMessageDelivery": "true"})
step("fifo without group", lambda: sns.publish(TopicArn=f, Message="x"))
step("publish fifo", lambda: sns.publish(TopicArn=f, Message="x", MessageGroupId="g"), lambda a: sorted(a.keys() - {"ResponseMetadata"}))
step("publish duplicate", lambda: sns.publish(TopicArn=f, Message="x", MessageGroupId="g"), lambda a: "MessageId" in a)
step("fifo bodies", lambda: bodies(q))

# Webhooks, and what this account has none of
step("webhook", lambda: sns.subscribe(TopicArn=t, Protocol="http", Endpoint="http://127.0.0.1:1/"), lambda a: a["SubscriptionArn"].split(":")[0])
step("webhook scheme", lambda: sns.subscribe(TopicArn=t, Protocol="https", Endpoint="http://127.0.0.1:1/"))
step("unknown protocol", lambda: sns.subscribe(TopicArn=t, Protocol="foo", Endpoint="x"))
step("applications", lambda: sns.list_platform_applications())
step("application of nothing", lambda: sns.get_platform_application_attributes(PlatformApplicationArn=t.replace(":t", ":app/GCM/a")))
step("endpoint of nothing", lambda: sns.get_endpoint_attributes(EndpointArn=t.replace(":t", ":endpoint/GCM/a/b")))
step("opted out", lambda: sns.list_phone_numbers_opted_out())
step("delete twice", lambda: [sns.delete_topic(TopicArn=f) and None, sns.delete_topic(TopicArn=f) and None])

show()
