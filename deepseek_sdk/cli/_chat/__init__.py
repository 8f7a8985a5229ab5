"""`deepseek-sdk chat`: the conversation, what is asked, and how answers are shown."""

from __future__ import annotations
