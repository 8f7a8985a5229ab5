"""The limiter: how many calls may be in flight, and in a minute, and who goes first."""
