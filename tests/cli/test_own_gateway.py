"""What a person is told of the gateway that serves the home: its key's file, and that it is in the way."""

import json
import os
import socket
from pathlib import Path

from typer.testing import CliRunner

from astra_mcp.addresses import bind, url_of
from astra_mcp.cli.main import app
from gateway.edge.discovery import RunningGateway, announce, claim_home


def test_the_file_of_the_control_key_is_printed_and_can_be_read(home: Path) -> None:
    shown = CliRunner().invoke(app, ["key"])
    assert shown.stdout == f"{home / 'control.key'}\n"
    assert len((home / "control.key").read_text()) > 20
    told = json.loads(CliRunner().invoke(app, ["key", "--json"]).stdout)
    assert told == {"path": str(home / "control.key")}


def serve(listener: socket.socket) -> str:
    """Try to serve where somebody listens; returns what is said of it."""
    port = str(listener.getsockname()[1])
    done = CliRunner().invoke(app, ["serve", "--port", port])
    assert done.exit_code == 1
    return done.stderr


def test_a_port_that_is_taken_is_said_to_be_the_own_gateways_where_it_is(home: Path) -> None:
    with bind("127.0.0.1", 0) as listener, bind("127.0.0.1", 0) as foreign, claim_home(home):
        running = RunningGateway(url=url_of(listener), pid=os.getpid(), version="1")
        with announce(home, running):
            said = serve(listener)
            assert f"this home's gateway already serves at {running.url}" in said
            assert str(os.getpid()) in said
            assert "in use: stop the program that listens there" in serve(foreign)
