# bunny, unmodified: ruby bunny-scenario.rb PORT. Ends with `ok`.
require 'bunny'

connection = Bunny.new("amqp://guest:guest@127.0.0.1:#{ARGV[0]}")
connection.start
channel = connection.create_channel
channel.confirm_select
queue = channel.queue('bunny.q', durable: true, arguments: { 'x-max-priority' => 3 })
exchange = channel.topic('bunny.x')
queue.bind(exchange, routing_key: 'a.#')
exchange.publish('hello', routing_key: 'a.b', persistent: true, headers: { 'n' => 1 })
raise 'not confirmed' unless channel.wait_for_confirms

returned = Queue.new
exchange.on_return { |info, _properties, content| returned << [info.reply_code, content] }
exchange.publish('lost', routing_key: 'nowhere', mandatory: true)
raise 'not returned' unless returned.pop == [312, 'lost']

got = Queue.new
queue.subscribe(manual_ack: true, consumer_tag: 'tag') do |delivery, properties, body|
  channel.ack(delivery.delivery_tag)
  got << [body, properties.headers, delivery.routing_key, delivery.redelivered?]
end
raise 'not delivered' unless got.pop == ['hello', { 'n' => 1 }, 'a.b', false]

raise 'not server-named' unless channel.queue('', exclusive: true).name.start_with?('amq.gen-')

begin
  connection.create_channel.queue('bunny.q', durable: false)
  raise 'not refused'
rescue Bunny::PreconditionFailed => e
  raise e.message unless e.message.include?("inequivalent arg 'durable'")
end
last = connection.create_channel
last.queue_delete('bunny.q')
last.exchange_delete('bunny.x')
connection.close
puts 'ok'
