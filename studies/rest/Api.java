import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** GET /api on the JDK's own HTTP server. */
public class Api {
    public static void main(String[] arguments) throws Exception {
        // Without this the JDK's server holds small answers back for the delayed acknowledgement.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxIdleConnections", "4096");
        byte[] body = "{\"greeting\":\"Hello World!\"}".getBytes(StandardCharsets.UTF_8);
        int port = Integer.parseInt(arguments[0]);
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), 1024);
        server.createContext("/api", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.start();
    }
}
