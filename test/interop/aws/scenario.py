"""The same calls with boto3 against any SQS + SNS endpoint; prints what came back, made comparable, as JSON."""

import json

from transcript import comparable, show, sns, sqs, step, text, transcript


def received(answer):
    keep = ("Body", "MD5OfBody", "MD5OfMessageAttributes", "MessageAttributes")
    return [{key: message[key] for key in keep if key in message} for message in answer.get("Messages", [])]


# Queues
q = step("create", lambda: sqs.create_queue(QueueName="q1", Attributes={"VisibilityTimeout": "5"}))["QueueUrl"]
step("create again", lambda: sqs.create_queue(QueueName="q1", Attributes={"VisibilityTimeout": "5"}))
step("create different", lambda: sqs.create_queue(QueueName="q1", Attributes={"VisibilityTimeout": "6"}))
step("url", lambda: sqs.get_queue_url(QueueName="q1"))
step("url of nothing", lambda: sqs.get_queue_url(QueueName="nope"))
step("list", lambda: sqs.list_queues(QueueNamePrefix="q1"))
step("list nothing", lambda: "QueueUrls" in sqs.list_queues(QueueNamePrefix="zzz"))
step("bad name", lambda: sqs.create_queue(QueueName="a b"))
step("some attributes", lambda: sqs.get_queue_attributes(QueueUrl=q, AttributeNames=["VisibilityTimeout", "QueueArn"]))
step("all attributes", lambda: sqs.get_queue_attributes(QueueUrl=q, AttributeNames=["All"]), lambda a: sorted(a["Attributes"]))
step("bad attribute", lambda: sqs.get_queue_attributes(QueueUrl=q, AttributeNames=["Nope"]))
step("tag", lambda: sqs.tag_queue(QueueUrl=q, Tags={"a": "1", "b": "2"}))
step("untag", lambda: sqs.untag_queue(QueueUrl=q, TagKeys=["b"]))
step("tags", lambda: sqs.list_queue_tags(QueueUrl=q))

# Messages
many = {"k": text("x"), "n": {"DataType": "Number.int", "StringValue": "7"}, "b": {"DataType": "Binary", "BinaryValue": b"\0\1"}}
sent = lambda answer: {key: value for key, value in answer.items() if key.startswith("MD5")}
step("send", lambda: sqs.send_message(QueueUrl=q, MessageBody='a\r\n<"\u00fc\U0001f600">', MessageAttributes=many), sent)
step("send empty", lambda: sqs.send_message(QueueUrl=q, MessageBody=""))
step("send control", lambda: sqs.send_message(QueueUrl=q, MessageBody="\x00"))
step("send late", lambda: sqs.send_message(QueueUrl=q, MessageBody="x", DelaySeconds=901))
step("send to nothing", lambda: sqs.send_message(QueueUrl=q + "nope", MessageBody="x"))
got = step("receive", lambda: sqs.receive_message(QueueUrl=q, MessageAttributeNames=["All"], AttributeNames=["All"]), received)
handle = got["Messages"][0]["ReceiptHandle"]
transcript["system attributes"] = sorted(got["Messages"][0]["Attributes"])
step("receive none", lambda: sqs.receive_message(QueueUrl=q), lambda answer: "Messages" in answer)
step("receive 11", lambda: sqs.receive_message(QueueUrl=q, MaxNumberOfMessages=11))
step("receive 21 s", lambda: sqs.receive_message(QueueUrl=q, WaitTimeSeconds=21))
step("hide longer", lambda: sqs.change_message_visibility(QueueUrl=q, ReceiptHandle=handle, VisibilityTimeout=20))
step("show now", lambda: sqs.change_message_visibility(QueueUrl=q, ReceiptHandle=handle, VisibilityTimeout=0))
got = step("receive again", lambda: sqs.receive_message(QueueUrl=q, MessageAttributeNames=["k"]), received)
step("delete", lambda: sqs.delete_message(QueueUrl=q, ReceiptHandle=got["Messages"][0]["ReceiptHandle"]))
step("delete garbage", lambda: sqs.delete_message(QueueUrl=q, ReceiptHandle="garbage"))
entries = [{"Id": str(i), "MessageBody": f"m{i}"} for i in range(10)]
step("send ten", lambda: sqs.send_message_batch(QueueUrl=q, Entries=entries), lambda a: [e["Id"] for e in a["Successful"]])
step("send none", lambda: sqs.send_message_batch(QueueUrl=q, Entries=[]))
step("send eleven", lambda: sqs.send_message_batch(QueueUrl=q, Entries=entries + [{"Id": "10", "MessageBody": "x"}]))
step("send twins", lambda: sqs.send_message_batch(QueueUrl=q, Entries=entries[:1] * 2))
got = step("receive ten", lambda: sqs.receive_message(QueueUrl=q, MaxNumberOfMessages=10), received)
handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got["Messages"])]
step("delete ten", lambda: sqs.delete_message_batch(QueueUrl=q, Entries=handles), lambda a: [e["Id"] for e in a["Successful"]])
step("purge", lambda: sqs.purge_queue(QueueUrl=q))

# FIFO
fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
f = step("create fifo", lambda: sqs.create_queue(QueueName="f.fifo", Attributes=fifo))["QueueUrl"]
one = step("send fifo", lambda: sqs.send_message(QueueUrl=f, MessageBody="x", MessageGroupId="g"), sent)
two = step("send fifo twice", lambda: sqs.send_message(QueueUrl=f, MessageBody="x", MessageGroupId="g"), sent)
transcript["same message"] = one["MessageId"] == two["MessageId"]
step("send fifo no group", lambda: sqs.send_message(QueueUrl=f, MessageBody="y"))
got = step("receive fifo", lambda: sqs.receive_message(QueueUrl=f, AttributeNames=["All"], MaxNumberOfMessages=10), received)
transcript["fifo attributes"] = sorted(got["Messages"][0]["Attributes"])
transcript["same number"] = got["Messages"][0]["Attributes"].get("SequenceNumber") == one.get("SequenceNumber")

# SNS
t = step("create topic", lambda: sns.create_topic(Name="t1"))["TopicArn"]
step("create topic again", lambda: sns.create_topic(Name="t1"))
step("bad topic name", lambda: sns.create_topic(Name="a b"))
step("publish to nobody", lambda: sorted(sns.publish(TopicArn=t, Message="x")))
arn = sqs.get_queue_attributes(QueueUrl=q, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
r = sqs.create_queue(QueueName="raw")["QueueUrl"]
raw_arn = sqs.get_queue_attributes(QueueUrl=r, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
s = step("subscribe", lambda: sns.subscribe(TopicArn=t, Protocol="sqs", Endpoint=arn))["SubscriptionArn"]
step("subscribe again", lambda: sns.subscribe(TopicArn=t, Protocol="sqs", Endpoint=arn))
step("subscribe raw", lambda: sns.subscribe(TopicArn=t, Protocol="sqs", Endpoint=raw_arn, Attributes={"RawMessageDelivery": "true"}))
step("subscribe nowhere", lambda: sns.subscribe(TopicArn=t + "x", Protocol="sqs", Endpoint=arn))
step("list subscriptions", lambda: sns.list_subscriptions_by_topic(TopicArn=t), lambda a: sorted(map(comparable, a["Subscriptions"]), key=lambda x: x["Endpoint"]))
published = step("publish", lambda: sns.publish(TopicArn=t, Message="news", Subject="S", MessageAttributes={"k": text("x")}))
envelope = json.loads(sqs.receive_message(QueueUrl=q, WaitTimeSeconds=2)["Messages"][0]["Body"])
transcript["one id"] = envelope["MessageId"] == published["MessageId"]
transcript["envelope"] = {key: comparable(envelope.get(key)) for key in ("Type", "TopicArn", "Subject", "Message", "MessageAttributes")}
step("receive raw", lambda: sqs.receive_message(QueueUrl=r, MessageAttributeNames=["All"], WaitTimeSeconds=2), received)
step("publish empty", lambda: sns.publish(TopicArn=t, Message=""))
step("publish nowhere", lambda: sns.publish(TopicArn=t + "x", Message="x"))
batch = [{"Id": "a", "Message": "1"}, {"Id": "b", "Message": "2"}]
step("publish batch", lambda: sns.publish_batch(TopicArn=t, PublishBatchRequestEntries=batch), lambda a: [[e["Id"] for e in a["Successful"]], a["Failed"]])
step("unsubscribe", lambda: sns.unsubscribe(SubscriptionArn=s))
step("unsubscribe again", lambda: sns.unsubscribe(SubscriptionArn=s))
step("delete topic", lambda: sns.delete_topic(TopicArn=t))
step("delete topic again", lambda: sns.delete_topic(TopicArn=t))
step("delete queue", lambda: sqs.delete_queue(QueueUrl=q))
step("delete queue again", lambda: sqs.delete_queue(QueueUrl=q))

show()
