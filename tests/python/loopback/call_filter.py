"""Refuses system calls, as containers do: a filter of the kernel (seccomp(2))."""

import ctypes
import struct

# <linux/bpf_common.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
# The number is the same on each architecture.
OPENAT2 = 437


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def refusing(call, errno):
    """Gives a `preexec_fn` after which a call ends with an errno."""
    instructions = (
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, call),
        (_RETURN, 0, 0, _ERRNO | errno),
        (_RETURN, 0, 0, _ALLOW),
    )
    octets = b"".join(struct.pack("=HBBI", *each) for each in instructions)
    text = ctypes.create_string_buffer(octets, len(octets))
    program = _Program(len(instructions), ctypes.addressof(text))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def install():
        zero = ctypes.c_ulong(0)
        one = ctypes.c_ulong(1)
        if prctl(_SET_NO_NEW_PRIVS, one, zero, zero, zero) != 0:
            raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
        kind = ctypes.c_ulong(_FILTER)
        if prctl(_SET_SECCOMP, kind, ctypes.byref(program), zero, zero) != 0:
            raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")
        # What the program points to must live until here.
        return text

    return install
