"""Protocol machines: octets in, events out, no I/O and no clock."""
