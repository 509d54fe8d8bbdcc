#!/bin/sh
# librabbitmq's amqp-tools, unmodified: sh amqp-tools-scenario.sh PORT. Ends with `ok`.
set -eu
url="amqp://guest:guest@127.0.0.1:$1"
amqp-declare-queue -u "$url" -d -q tools.q >/dev/null
amqp-publish -u "$url" -r tools.q -p -b one
amqp-publish -u "$url" -r tools.q -p -C text/plain -b two
test "$(amqp-get -u "$url" -q tools.q)" = one
test "$(amqp-consume -u "$url" -q tools.q -c 1 cat)" = two
if amqp-get -u "$url" -q tools.q; then exit 1; fi
amqp-delete-queue -u "$url" -q tools.q >/dev/null
echo ok
