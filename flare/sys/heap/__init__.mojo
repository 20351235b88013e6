"""Allocates what Mojo's own allocator would keep for ever."""

from .blocks import allocate_block, free_block, give_free_memory_back
