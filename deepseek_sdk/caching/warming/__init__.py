"""Warming up: which questions are asked most, answers from files, and what is asked before the daily peak."""

from __future__ import annotations
