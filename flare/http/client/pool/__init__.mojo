"""Opens connections, keeps them, and lends them to exchanges."""
