import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Pattern;

/**
 * SQS's JSON protocol with nothing but the JDK, to keep this file alone; with Amazon's SDK, set endpointOverride.
 * Run: java examples/sqs-sns/java/Example.java
 */
public class Example {
  static final String ENDPOINT = System.getenv().getOrDefault("AWS_ENDPOINT_URL", "http://127.0.0.1:4566");
  static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  public static void main(String[] args) throws Exception {
    String url = field(call("CreateQueue", "{\"QueueName\":\"example-java\"}"), "QueueUrl");
    call("SendMessage", "{\"QueueUrl\":\"" + url + "\",\"MessageBody\":\"hello from Java\"}");

    String received = call("ReceiveMessage", "{\"QueueUrl\":\"" + url + "\",\"WaitTimeSeconds\":5}");
    System.out.println("received: " + field(received, "Body"));
    // Deleting says that it was dealt with; else it comes again after the visibility timeout.
    String handle = field(received, "ReceiptHandle");
    call("DeleteMessage", "{\"QueueUrl\":\"" + url + "\",\"ReceiptHandle\":\"" + handle + "\"}");
  }

  static String call(String operation, String json) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(ENDPOINT))
        .header("Content-Type", "application/x-amz-json-1.0")
        .header("X-Amz-Target", "AmazonSQS." + operation)
        .POST(HttpRequest.BodyPublishers.ofString(json))
        .build();
    HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new IllegalStateException(answer.body());
    return answer.body();
  }

  /** Enough of a JSON reader for this example. */
  static String field(String json, String name) {
    var matcher = Pattern.compile("\"" + name + "\":\\s*\"([^\"]*)\"").matcher(json);
    if (!matcher.find()) throw new IllegalStateException("no " + name + " in " + json);
    return matcher.group(1);
  }
}
