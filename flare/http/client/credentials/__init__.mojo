"""Proves who asks, and keeps secrets from other origins."""
