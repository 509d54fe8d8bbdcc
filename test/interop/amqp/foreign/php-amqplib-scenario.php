<?php
// php-amqplib, unmodified: php php-amqplib-scenario.php PORT. Ends with `ok`.
set_include_path('/usr/share/php');
require_once 'PhpAmqpLib/autoload.php';

use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Exception\AMQPProtocolChannelException;
use PhpAmqpLib\Message\AMQPMessage;
use PhpAmqpLib\Wire\AMQPTable;

function must(bool $holds, string $what): void
{
    if (!$holds) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

$connection = new AMQPStreamConnection('127.0.0.1', (int) $argv[1], 'guest', 'guest');
$channel = $connection->channel();
$arguments = new AMQPTable(['x-message-ttl' => 60000]);
$channel->queue_declare('php.q', false, true, false, false, false, $arguments);
$acked = 0;
$returned = 0;
$channel->set_ack_handler(function () use (&$acked) { $acked++; });
$channel->set_return_listener(function ($code) use (&$returned) { $returned = $code; });
$channel->confirm_select();
$headers = new AMQPTable(['a' => 1, 'list' => ['x', ['deep' => true]]]);
$message = new AMQPMessage('hi', ['delivery_mode' => 2, 'priority' => 1, 'application_headers' => $headers]);
$channel->basic_publish($message, '', 'php.q');
$channel->basic_publish($message, '', 'php.nowhere', true);
$channel->wait_for_pending_acks_returns(5);
must($acked === 2 && $returned === 312, 'confirms and returns');

$got = [];
$channel->basic_qos(0, 5, false);
$channel->basic_consume('php.q', 'tag', false, false, false, false, function ($m) use (&$got) {
    $got[] = [$m->getBody(), $m->get('application_headers')->getNativeData()['a']];
    $m->ack();
    $m->getChannel()->basic_cancel($m->getConsumerTag());
});
while ($channel->is_consuming()) {
    $channel->wait(null, false, 5);
}
must($got === [['hi', 1]], 'delivery');

try {
    $channel->queue_declare('php.q', false, false);
    must(false, 'refusal');
} catch (AMQPProtocolChannelException $e) {
    must($e->getCode() === 406, 'code of the refusal');
}
$connection->channel()->queue_delete('php.q');
$connection->close();
echo "ok\n";
