"""GET /api on Tornado, one process, nothing in front of it."""

import asyncio
import logging
import sys

import tornado.web


class Api(tornado.web.RequestHandler):
    """Answers the greeting."""

    def get(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.write('{"greeting":"Hello World!"}')


async def serve(port: int) -> None:
    logging.getLogger("tornado.access").disabled = True
    tornado.web.Application([("/api", Api)]).listen(port, "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
