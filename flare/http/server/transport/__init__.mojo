"""One connection below the protocol: octets received and sent, deadlines, memory."""
