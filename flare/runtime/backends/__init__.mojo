"""Holds the kernel interfaces that a reactor can drive."""
