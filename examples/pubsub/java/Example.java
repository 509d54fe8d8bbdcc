import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.regex.Pattern;

/**
 * Pub/Sub's REST API with nothing but the JDK, to keep this file alone; Google's client needs PUBSUB_EMULATOR_HOST only.
 * Run: java examples/pubsub/java/Example.java
 */
public class Example {
  static final String API =
      "http://" + System.getenv().getOrDefault("PUBSUB_EMULATOR_HOST", "127.0.0.1:8085") + "/v1/projects/example/";
  static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  public static void main(String[] args) throws Exception {
    String subscription = "subscriptions/example-java";
    ask("PUT", "topics/example-java", "{}");
    ask("PUT", subscription, "{\"topic\":\"projects/example/topics/example-java\"}");
    String data = Base64.getEncoder().encodeToString("hello from Java".getBytes());
    ask("POST", "topics/example-java:publish", "{\"messages\":[{\"data\":\"" + data + "\"}]}");

    String pulled = ask("POST", subscription + ":pull", "{\"maxMessages\":1}");
    System.out.println("received: " + new String(Base64.getDecoder().decode(field(pulled, "data"))));
    // What is not acknowledged comes again after the acknowledgement deadline.
    ask("POST", subscription + ":acknowledge", "{\"ackIds\":[\"" + field(pulled, "ackId") + "\"]}");
  }

  static String ask(String method, String path, String json) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(API + path))
        .header("Content-Type", "application/json")
        .method(method, HttpRequest.BodyPublishers.ofString(json))
        .build();
    HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    // 409: it is there already.
    if (answer.statusCode() >= 300 && answer.statusCode() != 409) throw new IllegalStateException(answer.body());
    return answer.body();
  }

  /** Enough of a JSON reader for this example. */
  static String field(String json, String name) {
    var matcher = Pattern.compile("\"" + name + "\":\\s*\"([^\"]*)\"").matcher(json);
    if (!matcher.find()) throw new IllegalStateException("no " + name + " in " + json);
    return matcher.group(1);
  }
}
