"""Upgrades connections to another protocol."""
