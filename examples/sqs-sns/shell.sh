#!/bin/sh
# SQS with the AWS command line: only the endpoint differs. Run: sh examples/sqs-sns/shell.sh
set -eu
# Any pair will do, unless the broker was given credentials.
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=us-east-1 AWS_PAGER=
sqs() { aws --endpoint-url "${AWS_ENDPOINT_URL:-http://127.0.0.1:4566}" --output text sqs "$@"; }

url=$(sqs create-queue --queue-name example-shell --query QueueUrl)
sqs send-message --queue-url "$url" --message-body 'hello from the shell' >/dev/null
received=$(sqs receive-message --queue-url "$url" --wait-time-seconds 5 --query 'Messages[0].[ReceiptHandle,Body]')
handle=$(printf '%s' "$received" | cut -f1)
echo "received: $(printf '%s' "$received" | cut -f2)"
# Deleting says that it was dealt with; else it comes again after the visibility timeout.
sqs delete-message --queue-url "$url" --receipt-handle "$handle"
