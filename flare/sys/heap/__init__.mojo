"""Allocates blocks that Mojo's own allocator would never return."""

from .blocks import allocate_block, free_block, give_free_memory_back
