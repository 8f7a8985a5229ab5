"""Lets the asserts of the battery, which is no test module, say what they compare."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.frameworks.battery")
