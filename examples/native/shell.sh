#!/bin/sh
# The native REST API with curl. Run: sh examples/native/shell.sh
set -eu
api=${KUBEMQ_REST:-http://127.0.0.1:9090}
ask() { curl -sS -H 'content-type: application/json' -d "$2" "$api$1"; }

# Bodies travel in base64.
body=$(printf 'hello from the shell' | base64)
ask /queue/send "{\"ClientID\":\"example\",\"Channel\":\"example-shell\",\"Body\":\"$body\"}" >/dev/null
received=$(ask /queue/receive '{"ClientID":"example","Channel":"example-shell","MaxNumberOfMessages":1,"WaitTimeSeconds":5}')
echo "received: $(printf '%s' "$received" | tr -d ' \t\n' | sed -n 's/.*"Body":"\([^"]*\)".*/\1/p' | base64 -d)"
