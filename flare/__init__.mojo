"""The networking library for Mojo."""
