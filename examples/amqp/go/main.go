// RabbitMQ's Go client, unchanged. Run: go run .
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	url := os.Getenv("AMQP_URL")
	if url == "" {
		url = "amqp://guest:guest@127.0.0.1:5672/"
	}
	connection, err := amqp.Dial(url)
	check(err)
	defer connection.Close()
	channel, err := connection.Channel()
	check(err)

	queue, err := channel.QueueDeclare("example-go", true, false, false, false, nil)
	check(err)
	// With confirms, Publish is done when the broker has it on disk.
	check(channel.Confirm(false))
	confirmation, err := channel.PublishWithDeferredConfirm("", queue.Name, false, false, amqp.Publishing{
		DeliveryMode: amqp.Persistent,
		Body:         []byte("hello from Go"),
	})
	check(err)
	_, err = confirmation.WaitContext(context.Background())
	check(err)

	message, ok, err := channel.Get(queue.Name, false)
	check(err)
	if ok {
		fmt.Println("received:", string(message.Body))
		check(message.Ack(false))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
