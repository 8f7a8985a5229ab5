"""The group of commands: each is a module of `deepseek_sdk.cli.commands` that defines *command*."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

import click
import openai

from deepseek_sdk._version import __version__
from deepseek_sdk.cli import commands
from deepseek_sdk.cli._exits import Exit, error_line, exit_code, is_interrupt
from deepseek_sdk.cli._language import program_language_option
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of

__all__ = ["app"]


class Commands(SuggestingGroup):
    """Finds commands by their files, imports the one that runs, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """List the commands."""
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command *cmd_name*, or give None where there is no such file."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{commands.__name__}.{cmd_name}").command
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line; Ctrl-C meanwhile, for which click has another code, is the same as later."""
        try:
            return super().make_context(*args, **extra)
        except KeyboardInterrupt:
            sys.exit(Exit.INTERRUPTED)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an error of the library, or Ctrl-C, is one line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as error:
            if not is_interrupt(error):
                raise
            # Terminals show ^C by themselves.
            console_of(sys.stderr).print("\nCtrl-C" if sys.stderr.isatty() else "Ctrl-C", style="dim")
            ctx.exit(Exit.INTERRUPTED)
        except openai.OpenAIError as error:
            console_of(sys.stderr).print(error_line(error), style="red", markup=False)
            ctx.exit(exit_code(error))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="deepseek-sdk")
@program_language_option
def app() -> None:
    """
    Talk to DeepSeek from the command line.

    Data goes to stdout, everything else to stderr. Exit codes: 0 ok, 1 failure, 2 usage, 3 configuration or key,
    4 budget or rate limit, 5 a check failed, 130 Ctrl-C.
    """
