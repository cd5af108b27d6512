"""A server that answers every GET with a greeting, and may be told to die."""

import argparse
import http.server
import os
from pathlib import Path


def main() -> None:
    """Serves until it is ended, or has answered as often as it may."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--name", default="left")
    parser.add_argument("--die-after", type=int, default=0)
    parser.add_argument("--mark", type=Path)
    parser.add_argument("--status", type=int, default=200)
    told = parser.parse_args()
    left = told.die_after

    class Hello(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            nonlocal left
            if told.die_after:
                left -= 1
                if left == 0:
                    print("out of greetings", flush=True)
                    os._exit(9)
            self.send_response(told.status if self.path == "/" else 200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: object) -> None:
            """A line for each request would be measured too."""

    if told.mark is not None:
        with told.mark.open("a") as file:
            file.write(f"{os.getpid()}\n")
    http.server.ThreadingHTTPServer(("127.0.0.1", told.port), Hello).serve_forever()


if __name__ == "__main__":
    main()
