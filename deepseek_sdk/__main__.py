"""`python -m deepseek_sdk` is `deepseek-sdk`."""

from __future__ import annotations

from deepseek_sdk.cli import main

if __name__ == "__main__":
    main()
