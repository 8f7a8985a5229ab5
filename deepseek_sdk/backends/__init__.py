"""What answers calls: one module for each kind."""
