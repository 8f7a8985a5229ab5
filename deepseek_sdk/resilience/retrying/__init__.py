"""Retries: whether the same route is asked again, after which wait, and from which budget."""
