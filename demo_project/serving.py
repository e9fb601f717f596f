"""The site as a process of its own: ``python -m demo_project.serving FD``.

``FD`` is a listening socket that the starting process opened and handed on: it knows the port before the site
runs, and no other program can take it in between. The site stops when its standard input is closed, so it never
outlives the process that started it.
"""

from __future__ import annotations

import socket
import sys
import threading

import uvicorn

GRACE_SECONDS = 3
"""How long requests in flight may go on after the site was told to stop."""


def main(descriptor: int) -> None:
    """Serve until standard input ends."""
    server = uvicorn.Server(
        uvicorn.Config(
            "demo_project.asgi:application",
            lifespan="off",
            log_level="warning",
            access_log=False,
            # Nobody stands between: a forwarded address would be a caller's own invention.
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    threading.Thread(target=_stop_with_parent, args=(server,), daemon=True).start()
    server.run(sockets=[socket.socket(fileno=descriptor)])


def _stop_with_parent(server: uvicorn.Server) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True


if __name__ == "__main__":
    main(int(sys.argv[1]))
