"""Serves an ASGI application on a free port until standard input ends; the address is the first line of output."""

import socket
import sys
import threading

import uvicorn


def serve(app):
    door = socket.create_server(("127.0.0.1", 0))
    host = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))

    def end_with_input():
        sys.stdin.read()
        host.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(f"http://127.0.0.1:{door.getsockname()[1]}/mcp", flush=True)
    host.run(sockets=[door])
