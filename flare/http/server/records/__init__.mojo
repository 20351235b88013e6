"""What a server writes down: its log, its access log and its counters."""
