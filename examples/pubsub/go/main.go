// Pub/Sub's REST API with Go's standard library, to keep this file alone; Google's client needs PUBSUB_EMULATOR_HOST only.
// Run: go run examples/pubsub/go/main.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type message struct {
	Data []byte `json:"data"`
}

type pulled struct {
	ReceivedMessages []struct {
		AckID   string  `json:"ackId"`
		Message message `json:"message"`
	} `json:"receivedMessages"`
}

func main() {
	host := os.Getenv("PUBSUB_EMULATOR_HOST")
	if host == "" {
		host = "127.0.0.1:8085"
	}
	api := "http://" + host + "/v1/projects/example/"
	subscription := api + "subscriptions/example-go"

	ask("PUT", api+"topics/example-go", map[string]any{}, nil)
	ask("PUT", subscription, map[string]any{"topic": "projects/example/topics/example-go"}, nil)
	ask("POST", api+"topics/example-go:publish", map[string]any{"messages": []message{{Data: []byte("hello from Go")}}}, nil)

	var got pulled
	ask("POST", subscription+":pull", map[string]any{"maxMessages": 10}, &got)
	for _, received := range got.ReceivedMessages {
		fmt.Println("received:", string(received.Message.Data))
		// What is not acknowledged comes again after the acknowledgement deadline.
		ask("POST", subscription+":acknowledge", map[string]any{"ackIds": []string{received.AckID}}, nil)
	}
}

func ask(method, url string, body, answer any) {
	text, err := json.Marshal(body)
	check(err)
	request, err := http.NewRequest(method, url, bytes.NewReader(text))
	check(err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	// 409: it is there already.
	if response.StatusCode >= 300 && response.StatusCode != http.StatusConflict {
		log.Fatal(method, " ", url, ": ", response.Status)
	}
	if answer != nil {
		check(json.NewDecoder(response.Body).Decode(answer))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
