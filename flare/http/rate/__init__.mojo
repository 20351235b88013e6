"""Rates at which clients may send requests."""

from .rate_config import RateKeyFunction, RateLimitConfig, by_peer
from .rate_keys import RateKeys
from .rate_limiter import RateLimiter
from .rate_table import RateAnswer, RateTable
