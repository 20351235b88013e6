"""The kernel interfaces that a reactor can use."""
