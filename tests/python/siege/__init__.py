"""Besieges built servers: hostile clients, hostile origins, and what is held to
be true of a server while they attack and after they have left."""
