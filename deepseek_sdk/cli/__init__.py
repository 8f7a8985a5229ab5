"""The command line: `deepseek-sdk`, or `python -m deepseek_sdk`."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from deepseek_sdk.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    try:
        from deepseek_sdk.cli._app import app  # noqa: PLC0415  a later import than this reports what is missing
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(f"{MissingExtraError('The command line', 'cli')}\n")
        sys.exit(3)
    except KeyboardInterrupt:  # click is not there yet to take it
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a legacy code page must not end the program
    app()
