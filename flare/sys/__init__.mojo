"""The only package that calls the operating system and C libraries."""
