"""What handlers answer becomes octets: one module per protocol."""
