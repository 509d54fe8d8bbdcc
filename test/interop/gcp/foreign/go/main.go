// Google's Go client against a broker: prints what it saw as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

const (
	project = "golang"
	wait    = 2 * time.Minute
	// The client sends signs of life every 30 seconds and wants each answered within 15.
	idle = 50 * time.Second
)

// Streams opened for StreamingPull.
var streams atomic.Int32

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := os.Setenv("PUBSUB_EMULATOR_HOST", os.Args[1]); err != nil {
		log.Fatal(err)
	}
	count := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if strings.HasSuffix(method, "/StreamingPull") {
			streams.Add(1)
		}
		return streamer(ctx, desc, cc, method, opts...)
	}
	client, err := pubsub.NewClient(ctx, project, option.WithGRPCDialOption(grpc.WithStreamInterceptor(count)))
	must(err)
	defer client.Close()
	seen := map[string]any{}
	ordered(ctx, client, seen)
	quiet(ctx, client, seen)
	codes(ctx, client, seen)
	must(json.NewEncoder(os.Stdout).Encode(seen))
}

// Makes a topic and a subscription of one name.
func create(ctx context.Context, client *pubsub.Client, name string, subscription *pubsubpb.Subscription) (*pubsub.Publisher, *pubsub.Subscriber) {
	topic, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicOf(name)})
	must(err)
	subscription.Name = subscriptionOf(name)
	subscription.Topic = topic.Name
	_, err = client.SubscriptionAdminClient.CreateSubscription(ctx, subscription)
	must(err)
	return client.Publisher(topic.Name), client.Subscriber(subscription.Name)
}

// The order of each key, one message given back, and acknowledgements that are certain.
func ordered(ctx context.Context, client *pubsub.Client, seen map[string]any) {
	publisher, subscriber := create(ctx, client, "ordered", &pubsubpb.Subscription{
		EnableMessageOrdering:     true,
		EnableExactlyOnceDelivery: true,
	})
	publisher.EnableMessageOrdering = true
	const each = 10
	keys := []string{"a", "b"}
	for number := range each {
		for _, key := range keys {
			result := publisher.Publish(ctx, &pubsub.Message{Data: []byte(fmt.Sprint(number)), OrderingKey: key})
			_, err := result.Get(ctx)
			must(err)
		}
	}
	var lock sync.Mutex
	got := map[string][]string{}
	statuses := map[string]int{}
	nacked := false
	receiving, stop := context.WithTimeout(ctx, wait)
	defer stop()
	must(subscriber.Receive(receiving, func(ctx context.Context, message *pubsub.Message) {
		lock.Lock()
		giveBack := !nacked
		nacked = true
		if !giveBack {
			got[message.OrderingKey] = append(got[message.OrderingKey], string(message.Data))
		}
		lock.Unlock()
		if giveBack {
			message.Nack()
			return
		}
		confirmed, err := message.AckWithResult().Get(ctx)
		must(err)
		lock.Lock()
		defer lock.Unlock()
		statuses[fmt.Sprint(confirmed)]++
		if statuses[fmt.Sprint(confirmed)] == each*len(keys) {
			stop()
		}
	}))
	seen["ordered"] = got
	seen["confirmed"] = statuses
}

// A stream on which nothing happens stays the one it is, and still gets what comes then.
func quiet(ctx context.Context, client *pubsub.Client, seen map[string]any) {
	publisher, subscriber := create(ctx, client, "quiet", &pubsubpb.Subscription{})
	subscriber.ReceiveSettings.NumGoroutines = 1
	before := streams.Load()
	receiving, stop := context.WithTimeout(ctx, wait)
	defer stop()
	go func() {
		time.Sleep(idle)
		_, err := publisher.Publish(ctx, &pubsub.Message{Data: []byte("at last")}).Get(ctx)
		must(err)
	}()
	var text string
	must(subscriber.Receive(receiving, func(_ context.Context, message *pubsub.Message) {
		text = string(message.Data)
		message.Ack()
		stop()
	}))
	seen["quiet"] = []any{text, streams.Load() - before}
}

func codes(ctx context.Context, client *pubsub.Client, seen map[string]any) {
	topics := client.TopicAdminClient
	_, twice := topics.CreateTopic(ctx, &pubsubpb.Topic{Name: topicOf("quiet")})
	_, missing := topics.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: topicOf("missing")})
	_, bad := topics.CreateTopic(ctx, &pubsubpb.Topic{Name: topicOf("a b")})
	must(client.SubscriptionAdminClient.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: subscriptionOf("quiet")}))
	gone := client.Subscriber(subscriptionOf("quiet")).Receive(ctx, func(context.Context, *pubsub.Message) {})
	seen["codes"] = []string{
		status.Code(twice).String(), status.Code(missing).String(), status.Code(bad).String(), status.Code(gone).String(),
	}
}

func topicOf(name string) string { return "projects/" + project + "/topics/" + name }

func subscriptionOf(name string) string { return "projects/" + project + "/subscriptions/" + name }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
