"""The command line: `deepseek-sdk`, or `python -m deepseek_sdk`."""

from __future__ import annotations

import sys

from deepseek_sdk.cli._streams import prepare, tell_broken
from deepseek_sdk.errors import MissingExtraError

__all__ = ["main"]

# `config init` tells of tomlkit by itself.
_NEEDED = ("click", "packaging", "rich")


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    prepare()
    try:
        _run()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.stderr.write(f"{MissingExtraError('The command line', 'cli')}\n")
        sys.exit(3)
    except KeyboardInterrupt:  # click is not there yet to take it
        sys.exit(130)
    except OSError as error:  # of a pipe whose reader is gone, click makes a quiet end
        if error.filename is not None:
            raise
        tell_broken(error)
        sys.exit(1)


def _run() -> None:
    from deepseek_sdk.cli._app import app  # noqa: PLC0415  `main()` reports what is missing

    app()
