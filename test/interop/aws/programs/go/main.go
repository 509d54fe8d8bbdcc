// A queue's and a topic's life with Amazon's SDK for Go v2: it compares the MD5s itself. Ends with "lived", or fails.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var ctx = context.Background()

func main() {
	endpoint := aws.String(os.Getenv("AWS_ENDPOINT_URL"))
	keys := credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), "")
	queues := sqs.New(sqs.Options{BaseEndpoint: endpoint, Region: "us-east-1", Credentials: keys})
	topics := sns.New(sns.Options{BaseEndpoint: endpoint, Region: "us-east-1", Credentials: keys})
	standard(queues)
	fifo(queues)
	refusals(queues, topics)
	topic(queues, topics)
	fmt.Println("lived")
}

func create(queues *sqs.Client, name string, attributes map[string]string) *string {
	return must(queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})).QueueUrl
}

func standard(queues *sqs.Client) {
	url := create(queues, "go", map[string]string{"VisibilityTimeout": "60"})
	must(queues.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: aws.String("héllo \r\n ☃"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"n": {DataType: aws.String("Number"), StringValue: aws.String("1.50")},
			"b": {DataType: aws.String("Binary.x"), BinaryValue: []byte{0, 1, 255}},
		},
	}))
	message := must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: url, WaitTimeSeconds: 5, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})).Messages[0]
	check(*message.Body == "héllo \r\n ☃", "body")
	check(bytes.Equal(message.MessageAttributes["b"].BinaryValue, []byte{0, 1, 255}), "binary attribute")
	check(*message.MessageAttributes["n"].StringValue == "1.50", "number attribute")
	check(message.Attributes["ApproximateReceiveCount"] == "1", "count")
	must(queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: message.ReceiptHandle}))
	again := must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5})).Messages[0]
	must(queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: again.ReceiptHandle}))
	check(len(must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})).Messages) == 0, "empty")
	batch := must(queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: aws.String("x")}, {Id: aws.String("b"), MessageBody: aws.String("\u0000")},
	}}))
	check(len(batch.Successful) == 1 && *batch.Failed[0].Code == "InvalidMessageContents" && batch.Failed[0].SenderFault, "batch")
	attributes := must(queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})).Attributes
	check(attributes["ApproximateNumberOfMessages"] == "1", "depth")
	must(queues.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"k": "v"}}))
	check(must(queues.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url})).Tags["k"] == "v", "tags")
	pages := sqs.NewListQueuesPaginator(queues, &sqs.ListQueuesInput{QueueNamePrefix: aws.String("go"), MaxResults: aws.Int32(1)})
	found := 0
	for pages.HasMorePages() {
		found += len(must(pages.NextPage(ctx)).QueueUrls)
	}
	check(found == 1, "list")
	must(queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
}

func fifo(queues *sqs.Client) {
	url := create(queues, "go.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	for _, body := range []string{"1", "2", "2"} {
		must(queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body, MessageGroupId: aws.String("g")}))
	}
	messages := must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10})).Messages
	check(len(messages) == 2 && *messages[0].Body == "1" && *messages[1].Body == "2", "order")
	must(queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
}

func refusals(queues *sqs.Client, topics *sns.Client) {
	var missing *types.QueueDoesNotExist
	_, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("nope")})
	check(errors.As(err, &missing), "QueueDoesNotExist")
	url := create(queues, "go-refusals", nil)
	var handle *types.ReceiptHandleIsInvalid
	_, err = queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("garbage")})
	check(errors.As(err, &handle), "ReceiptHandleIsInvalid")
	var empty *types.EmptyBatchRequest
	_, err = queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: []types.SendMessageBatchRequestEntry{}})
	check(errors.As(err, &empty), "EmptyBatchRequest")
	var exists *types.QueueNameExists
	_, err = queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("go-refusals"), Attributes: map[string]string{"DelaySeconds": "7"}})
	check(errors.As(err, &exists), "QueueNameExists")
	var unknown *snstypes.NotFoundException
	_, err = topics.Publish(ctx, &sns.PublishInput{TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:nope"), Message: aws.String("x")})
	check(errors.As(err, &unknown), "NotFound")
	must(queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
}

func topic(queues *sqs.Client, topics *sns.Client) {
	url := create(queues, "go-sub", nil)
	arn := must(queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})).Attributes["QueueArn"]
	made := must(topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("go")})).TopicArn
	subscription := must(topics.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: made, Protocol: aws.String("sqs"), Endpoint: &arn,
		Attributes: map[string]string{"RawMessageDelivery": "true", "FilterPolicy": `{"k":["v"]}`},
	})).SubscriptionArn
	for _, value := range []string{"v", "x"} {
		must(topics.Publish(ctx, &sns.PublishInput{TopicArn: made, Message: &value, MessageAttributes: map[string]snstypes.MessageAttributeValue{
			"k": {DataType: aws.String("String"), StringValue: &value},
		}}))
	}
	messages := must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})).Messages
	check(len(messages) == 1 && *messages[0].Body == "v", "filtered")
	must(topics.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: subscription}))
	must(topics.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: made}))
	must(queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func check(holds bool, what string) {
	if !holds {
		log.Fatal(what)
	}
}
