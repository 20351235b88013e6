"""Writes DNS queries and parses their answers (RFC 1035), without I/O.

Pure functions over octets: the caller chooses the id and keeps the time.
"""

from .answer import CNAMES_MAX, RECORDS_MAX, DnsAnswer, DnsOutcome, read_answer
from .error import DnsMessageError
from .header import HEADER_OCTETS, DnsHeader, ResponseCode
from .name import (
    LABEL_OCTETS_MAX,
    NAME_OCTETS_MAX,
    append_name,
    name_text,
    same_name,
    skip_name,
)
from .query import EDNS_UDP_OCTETS, write_query
from .record import DnsRecord, RecordType, read_record
