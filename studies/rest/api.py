"""GET /api on the standard library's threading HTTP server, connections kept."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b'{"greeting":"Hello World!"}'


class Api(BaseHTTPRequestHandler):
    """Answers the greeting."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        found = self.path == "/api"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(BODY) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: a line a request would be measured too."""


class Server(ThreadingHTTPServer):
    """Accepts as many connections at once as the load opens."""

    request_queue_size = 1024
    daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
