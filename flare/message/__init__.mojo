"""Holds the vocabulary of HTTP messages."""
