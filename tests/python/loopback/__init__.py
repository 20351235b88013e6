"""What the loopback tests share: the server under test, and a raw client."""
