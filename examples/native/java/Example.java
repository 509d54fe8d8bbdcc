import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.regex.Pattern;

/** The native REST API with nothing but the JDK. Run: java examples/native/java/Example.java */
public class Example {
  static final String API = System.getenv().getOrDefault("KUBEMQ_REST", "http://127.0.0.1:9090");
  static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  public static void main(String[] args) throws Exception {
    // Bodies travel in base64.
    String body = Base64.getEncoder().encodeToString("hello from Java".getBytes());
    String common = "\"ClientID\":\"example\",\"Channel\":\"example-java\"";
    ask("/queue/send", "{" + common + ",\"Body\":\"" + body + "\"}");

    String received = ask("/queue/receive", "{" + common + ",\"MaxNumberOfMessages\":1,\"WaitTimeSeconds\":5}");
    var matcher = Pattern.compile("\"Body\":\\s*\"([^\"]*)\"").matcher(received);
    if (!matcher.find()) throw new IllegalStateException(received);
    System.out.println("received: " + new String(Base64.getDecoder().decode(matcher.group(1))));
  }

  static String ask(String path, String json) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(API + path))
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(json))
        .build();
    HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new IllegalStateException(answer.body());
    return answer.body();
  }
}
