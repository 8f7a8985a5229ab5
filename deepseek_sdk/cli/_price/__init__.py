"""
The parts of `price`.

    book        which prices a command goes by
    rows        data, and what tables call their columns
    words       instants, amounts and tariffs as people read and write them
    checks      opinions on prices
"""

from __future__ import annotations
