"""One worker: accepts, drives its connections, keeps to its budget."""
