#!/bin/sh
# Pub/Sub's REST API with curl, on the same port as gRPC. Run: sh examples/pubsub/shell.sh
set -eu
api="http://${PUBSUB_EMULATOR_HOST:-127.0.0.1:8085}/v1/projects/example"
topic=projects/example/topics/example-shell
ask() { curl -sS -H 'content-type: application/json' "$@"; }

# Making what is there already answers 409, which is fine here.
ask -X PUT "$api/topics/example-shell" -d '{}' >/dev/null
ask -X PUT "$api/subscriptions/example-shell" -d "{\"topic\":\"$topic\"}" >/dev/null
data=$(printf 'hello from the shell' | base64)
ask -X POST "$api/topics/example-shell:publish" -d "{\"messages\":[{\"data\":\"$data\"}]}" >/dev/null

pulled=$(ask -X POST "$api/subscriptions/example-shell:pull" -d '{"maxMessages":1}' | tr -d ' \n')
field() { printf '%s' "$pulled" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
echo "received: $(field data | base64 -d)"
# What is not acknowledged comes again after the acknowledgement deadline.
ask -X POST "$api/subscriptions/example-shell:acknowledge" -d "{\"ackIds\":[\"$(field ackId)\"]}" >/dev/null
