"""Runs fibers, timers and operations of the kernel, one loop per worker."""

from .timer_wheel import TimerEntry, TimerWheel
