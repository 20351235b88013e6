"""Records of a server: its log, its access log and its counters."""
