"""The demo's server: daphne in this process, tasks on its threads, until Ctrl-C or TERM."""

from __future__ import annotations

import socket

from django.core.management import CommandError

HOST = "127.0.0.1"


def check_port(port: int) -> None:
    """Say so before anything is printed that would not be true."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(
                f"port {port} of {HOST} cannot be used ({error.strerror}); "
                f'name another with --port, or make demo ARGS="--port {port + 1}"'
            ) from error


def serve(port: int) -> None:
    """Serve HTTP and WebSocket; comes back when the process is asked to stop."""
    # Importing daphne installs its event loop; importing the application starts the tasks.
    from daphne.server import Server

    from artifactr_site.asgi import application

    Server(
        application=application,
        endpoints=[f"tcp:port={port}:interface={HOST}"],
        server_name="artifactr",
    ).run()
