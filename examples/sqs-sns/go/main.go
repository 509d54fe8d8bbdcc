// SQS with Amazon's own SDK for Go: only the endpoint differs. Run: go run .
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	ctx := context.Background()
	client := sqs.New(sqs.Options{
		BaseEndpoint: aws.String(env("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")),
		Region:       "us-east-1",
		// Any pair will do, unless the broker was given credentials.
		Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
	})

	queue, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("example-go")})
	check(err)
	_, err = client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("hello from Go")})
	check(err)

	got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, WaitTimeSeconds: 5})
	check(err)
	for _, message := range got.Messages {
		fmt.Println("received:", *message.Body)
		// Deleting says that it was dealt with; else it comes again after the visibility timeout.
		_, err = client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue.QueueUrl, ReceiptHandle: message.ReceiptHandle})
		check(err)
	}
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
