"""Carries out a call: attempts, redirections, repetitions."""
