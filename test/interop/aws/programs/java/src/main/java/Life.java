import java.net.URI;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sns.model.NotFoundException;
import software.amazon.awssdk.services.sns.model.PublishBatchRequestEntry;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.batchmanager.SqsAsyncBatchManager;
import software.amazon.awssdk.services.sqs.model.*;

/** A queue's and a topic's life with Amazon's SDK for Java 2: it compares the MD5s itself. Ends with "lived", or throws. */
public class Life {
  static final URI ENDPOINT = URI.create(System.getenv("AWS_ENDPOINT_URL"));
  static final StaticCredentialsProvider CREDENTIALS =
      StaticCredentialsProvider.create(
          AwsBasicCredentials.create(
              System.getenv("AWS_ACCESS_KEY_ID"), System.getenv("AWS_SECRET_ACCESS_KEY")));

  public static void main(String[] args) throws Exception {
    try (SqsClient sqs =
            SqsClient.builder().endpointOverride(ENDPOINT).region(Region.US_EAST_1).credentialsProvider(CREDENTIALS).build();
        SnsClient sns =
            SnsClient.builder().endpointOverride(ENDPOINT).region(Region.US_EAST_1).credentialsProvider(CREDENTIALS).build()) {
      standard(sqs);
      fifo(sqs);
      refusals(sqs, sns);
      topic(sqs, sns);
    }
    batchManager();
    System.out.println("lived");
  }

  static void standard(SqsClient sqs) {
    String url =
        sqs.createQueue(r -> r.queueName("java").attributes(Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "60"))).queueUrl();
    check(url.equals(sqs.getQueueUrl(r -> r.queueName("java")).queueUrl()), "URL");
    MessageAttributeValue number = MessageAttributeValue.builder().dataType("Number").stringValue("1.50").build();
    MessageAttributeValue binary =
        MessageAttributeValue.builder().dataType("Binary.x").binaryValue(SdkBytes.fromByteArray(new byte[] {0, 1, -1})).build();
    sqs.sendMessage(r -> r.queueUrl(url).messageBody("héllo \r\n ☃").messageAttributes(Map.of("n", number, "b", binary)));
    Message message =
        sqs.receiveMessage(
                r -> r.queueUrl(url).messageAttributeNames("All").messageSystemAttributeNames(MessageSystemAttributeName.ALL).waitTimeSeconds(5))
            .messages()
            .get(0);
    check(message.body().equals("héllo \r\n ☃"), "body");
    check(message.messageAttributes().equals(Map.of("n", number, "b", binary)), "attributes");
    check("1".equals(message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT)), "count");
    sqs.changeMessageVisibility(r -> r.queueUrl(url).receiptHandle(message.receiptHandle()).visibilityTimeout(0));
    Message again = sqs.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(5)).messages().get(0);
    sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(again.receiptHandle()));
    check(sqs.receiveMessage(r -> r.queueUrl(url)).messages().isEmpty(), "empty");
    SendMessageBatchResponse batch =
        sqs.sendMessageBatch(
            r ->
                r.queueUrl(url)
                    .entries(
                        SendMessageBatchRequestEntry.builder().id("a").messageBody("x").build(),
                        SendMessageBatchRequestEntry.builder().id("b").messageBody("\u0000").build()));
    check(batch.successful().size() == 1 && batch.failed().get(0).code().equals("InvalidMessageContents"), "batch");
    check("1".equals(sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.ALL)).attributes()
            .get(QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES)), "depth");
    sqs.tagQueue(r -> r.queueUrl(url).tags(Map.of("k", "v")));
    check(sqs.listQueueTags(r -> r.queueUrl(url)).tags().equals(Map.of("k", "v")), "tags");
    check(sqs.listQueuesPaginator(r -> r.queueNamePrefix("ja").maxResults(1)).queueUrls().stream().toList().equals(List.of(url)), "list");
    sqs.purgeQueue(r -> r.queueUrl(url));
    sqs.deleteQueue(r -> r.queueUrl(url));
  }

  static void fifo(SqsClient sqs) {
    String url =
        sqs.createQueue(
                r ->
                    r.queueName("java.fifo")
                        .attributes(Map.of(QueueAttributeName.FIFO_QUEUE, "true", QueueAttributeName.CONTENT_BASED_DEDUPLICATION, "true")))
            .queueUrl();
    for (String body : List.of("1", "2", "2")) sqs.sendMessage(r -> r.queueUrl(url).messageBody(body).messageGroupId("g"));
    List<Message> messages = sqs.receiveMessage(r -> r.queueUrl(url).maxNumberOfMessages(10)).messages();
    check(messages.stream().map(Message::body).toList().equals(List.of("1", "2")), "order");
    sqs.deleteMessageBatch(
        r -> r.queueUrl(url).entries(messages.stream()
            .map(m -> DeleteMessageBatchRequestEntry.builder().id(m.body()).receiptHandle(m.receiptHandle()).build()).toList()));
    sqs.deleteQueue(r -> r.queueUrl(url));
  }

  static void refusals(SqsClient sqs, SnsClient sns) {
    throwsOne(QueueDoesNotExistException.class, () -> sqs.getQueueUrl(r -> r.queueName("nope")));
    String url = sqs.createQueue(r -> r.queueName("java-refusals")).queueUrl();
    throwsOne(ReceiptHandleIsInvalidException.class, () -> sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle("garbage")));
    throwsOne(EmptyBatchRequestException.class, () -> sqs.sendMessageBatch(r -> r.queueUrl(url).entries(List.of())));
    throwsOne(QueueNameExistsException.class,
        () -> sqs.createQueue(r -> r.queueName("java-refusals").attributes(Map.of(QueueAttributeName.DELAY_SECONDS, "7"))));
    throwsOne(NotFoundException.class,
        () -> sns.publish(r -> r.topicArn("arn:aws:sns:us-east-1:000000000000:nope").message("x")));
    sqs.deleteQueue(r -> r.queueUrl(url));
  }

  static void topic(SqsClient sqs, SnsClient sns) {
    String url = sqs.createQueue(r -> r.queueName("java-sub")).queueUrl();
    String arn = sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.QUEUE_ARN)).attributes()
        .get(QueueAttributeName.QUEUE_ARN);
    String topic = sns.createTopic(r -> r.name("java")).topicArn();
    String subscription = sns.subscribe(r -> r.topicArn(topic).protocol("sqs").endpoint(arn)
            .attributes(Map.of("RawMessageDelivery", "true", "FilterPolicy", "{\"k\":[\"v\"]}"))).subscriptionArn();
    check("true".equals(sns.getSubscriptionAttributes(r -> r.subscriptionArn(subscription)).attributes().get("RawMessageDelivery")), "raw");
    var value = software.amazon.awssdk.services.sns.model.MessageAttributeValue.builder().dataType("String");
    sns.publish(r -> r.topicArn(topic).message("wanted").messageAttributes(Map.of("k", value.stringValue("v").build())));
    sns.publish(r -> r.topicArn(topic).message("unwanted").messageAttributes(Map.of("k", value.stringValue("x").build())));
    check(sns.publishBatch(r -> r.topicArn(topic).publishBatchRequestEntries(
            PublishBatchRequestEntry.builder().id("a").message("other").build())).successful().size() == 1, "publish batch");
    Message message = sqs.receiveMessage(r -> r.queueUrl(url).messageAttributeNames("All").waitTimeSeconds(5).maxNumberOfMessages(10)).messages().get(0);
    check(message.body().equals("wanted") && message.messageAttributes().get("k").stringValue().equals("v"), "filtered");
    check(sns.listSubscriptionsByTopicPaginator(r -> r.topicArn(topic)).subscriptions().stream().count() == 1, "subscriptions");
    sns.unsubscribe(r -> r.subscriptionArn(subscription));
    sns.deleteTopic(r -> r.topicArn(topic));
    sqs.deleteQueue(r -> r.queueUrl(url));
  }

  /** The SDK's own gathering of calls into batches. */
  static void batchManager() throws Exception {
    try (SqsAsyncClient client =
            SqsAsyncClient.builder().endpointOverride(ENDPOINT).region(Region.US_EAST_1).credentialsProvider(CREDENTIALS).build();
        SqsAsyncBatchManager manager = client.batchManager()) {
      String url = client.createQueue(r -> r.queueName("java-batches")).get().queueUrl();
      var sends = java.util.stream.IntStream.range(0, 25)
          .mapToObj(i -> manager.sendMessage(r -> r.queueUrl(url).messageBody("m" + i))).toList();
      for (var send : sends) check(send.get().messageId() != null, "sent");
      int got = 0;
      for (int i = 0; i < 50 && got < 25; i++) {
        for (Message message : manager.receiveMessage(r -> r.queueUrl(url).maxNumberOfMessages(10)).get().messages()) {
          manager.deleteMessage(r -> r.queueUrl(url).receiptHandle(message.receiptHandle())).get();
          got++;
        }
      }
      check(got == 25, "received " + got);
      client.deleteQueue(r -> r.queueUrl(url)).get();
    }
  }

  static void throwsOne(Class<? extends Exception> type, Runnable call) {
    try {
      call.run();
    } catch (Exception error) {
      check(type.isInstance(error), type.getSimpleName() + " expected, got " + error);
      return;
    }
    throw new AssertionError(type.getSimpleName() + " expected");
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }
}
