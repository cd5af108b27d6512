"""Small real servers that behave as no server should."""

GARBAGE = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.recv(65536)
    connection.sendall(b"\\x00\\x01 what is this \\r\\n\\r\\n")
    connection.close()
"""

SLOW = """
import sys, time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
print("loading", flush=True)
time.sleep(0.7)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler)
print("open for business", flush=True)
server.serve_forever()
"""

SILENT = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
held = []
while True:
    held.append(server.accept())
"""

LOUD_DEATH = """
import sys
print("cannot read my configuration", file=sys.stderr)
sys.exit(3)
"""

NGINX = """
pid ${dir}/nginx.pid;
worker_processes 2;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  server {
    listen 127.0.0.1:${port};
    location = /hello { default_type text/plain; return 200 'hello ${uri}'; }
  }
}
"""
"""A configuration that makes nginx a daemon."""
