"""A group of commands that knows what a command it does not have was meant for."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SuggestingGroup"]


class SuggestingGroup(click.Group):
    """
    Refuses an unknown command with the nearest one that exists.

    Attributes:
        other_names: What people call a command elsewhere, and what they mean by it here.
    """

    other_names: Mapping[str, str] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that *args* begin with."""
        # Newer versions of click suggest names too, but only those of commands that are imported already.
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            meant = self.other_names.get(name) or next(iter(difflib.get_close_matches(name, known, n=1)), None)
            hint = f"Did you mean {meant!r}?" if meant else f"Commands are: {', '.join(known)}."
            ctx.fail(f"No such command {name!r}. {hint}")
        return super().resolve_command(ctx, args)
