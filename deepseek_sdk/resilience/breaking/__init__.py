"""The circuit breaker: when an account is left alone, and how it comes back."""
