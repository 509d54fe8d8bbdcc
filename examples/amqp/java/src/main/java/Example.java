import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;

/** RabbitMQ's Java client, unchanged. Run: mvn -q compile exec:java */
public class Example {
  public static void main(String[] args) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(System.getenv().getOrDefault("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672"));
    try (Connection connection = factory.newConnection(); Channel channel = connection.createChannel()) {
      channel.queueDeclare("example-java", true, false, false, null);
      // With confirms, waiting is over when the broker has it on disk.
      channel.confirmSelect();
      channel.basicPublish("", "example-java", MessageProperties.PERSISTENT_BASIC, "hello from Java".getBytes());
      channel.waitForConfirmsOrDie(5000);

      GetResponse message = channel.basicGet("example-java", false);
      if (message != null) {
        System.out.println("received: " + new String(message.getBody()));
        channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
      }
    }
  }
}
