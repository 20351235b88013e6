"""Looks up the addresses of hosts."""

from .config import ResolverConfig
from .error import DnsError
from .hosts_file import HostsFile
from .resolv_conf import ResolvConf
from .resolve import resolve, resolve_v4, resolve_v6
from .resolver import Resolver
