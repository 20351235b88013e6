"""A page with the state of a server, which changes each second."""

from .status_page import StatusPage
