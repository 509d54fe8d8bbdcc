#!/bin/sh
# AMQP with Debian's amqp-tools. Run: apt-get install amqp-tools && sh examples/amqp/shell.sh
set -eu
url=${AMQP_URL:-amqp://guest:guest@127.0.0.1:5672/%2F}

amqp-declare-queue --url="$url" -d -q example-shell >/dev/null
amqp-publish --url="$url" -p -r example-shell -b 'hello from the shell'
echo "received: $(amqp-get --url="$url" -q example-shell)"
