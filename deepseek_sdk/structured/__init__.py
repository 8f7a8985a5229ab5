"""Structured output: what a request wants, whether an answer is that, and what is done where it is not."""
