"""Carries one request and its response, in the protocol that is spoken."""
