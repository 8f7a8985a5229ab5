"""`deepseek-sdk completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_PROGRAM = "deepseek-sdk"
_VARIABLE = "_DEEPSEEK_SDK_COMPLETE"  # click derives it from the name of the program


# The marked paragraph is not wrapped.
_HELP = """
Print the completion script for SHELL; it is for the installed program `deepseek-sdk`.

\b
bash: echo 'eval "$(deepseek-sdk completion bash)"' >> ~/.bashrc
zsh:  echo 'eval "$(deepseek-sdk completion zsh)"' >> ~/.zshrc
fish: deepseek-sdk completion fish > ~/.config/fish/completions/deepseek-sdk.fish
"""


@click.command("completion", short_help="Print the completion script for a shell.", help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(*, shell: str) -> None:
    """Print the completion script for *shell*."""
    kind = get_completion_class(shell)
    if kind is None:
        message = f"click knows no completion for {shell}"
        raise click.ClickException(message)
    click.echo(kind(click.get_current_context().find_root().command, {}, _PROGRAM, _VARIABLE).source())
