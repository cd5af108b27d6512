"""The server that calibration compares with itself: it answers every request with an empty page.

It is a process of its own that needs nothing but the standard library: slow enough that it, and not
the load generator, is the limit, and busy in the ways servers are. Absent: HTTP beyond the end of a
request's head.
"""

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
END = b"\r\n\r\n"


class Page(asyncio.Protocol):
    """One connection; requests have no body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._head = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answers each request whose head is whole."""
        *whole, self._head = (self._head + data).split(END)
        self._transport.write(ANSWER * len(whole))


async def serve(port: int) -> None:
    """Listens on loopback until it is ended."""
    server = await asyncio.get_running_loop().create_server(Page, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
