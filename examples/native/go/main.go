// The native REST API with Go's standard library. Run: go run examples/native/go/main.go
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
	ClientID string
	Channel  string
	// Bodies travel in base64, which is how Go writes bytes.
	Body []byte
}

type received struct {
	Data struct{ Messages []message } `json:"data"`
}

func main() {
	ask("/queue/send", message{ClientID: "example", Channel: "example-go", Body: []byte("hello from Go")}, nil)

	var got received
	ask("/queue/receive", map[string]any{
		"ClientID": "example", "Channel": "example-go", "MaxNumberOfMessages": 1, "WaitTimeSeconds": 5,
	}, &got)
	for _, one := range got.Data.Messages {
		fmt.Println("received:", string(one.Body))
	}
}

func ask(path string, body, answer any) {
	api := os.Getenv("KUBEMQ_REST")
	if api == "" {
		api = "http://127.0.0.1:9090"
	}
	text, err := json.Marshal(body)
	check(err)
	response, err := http.Post(api+path, "application/json", bytes.NewReader(text))
	check(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatal(path, ": ", response.Status)
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
