"""Tests handlers, servers and reactors without a network."""

from .test_client import TestClient
from .test_server import TestServer
from .test_web_socket import TestWebSocket
