"""What a peer sends becomes requests: one module per protocol."""
