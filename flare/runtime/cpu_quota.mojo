"""Determines the CPU time that the control groups of the process allow.

A container shows all CPUs of its host, but may use only a share of their time.
The share is in `cpu.max` (version 2) or `cpu.cfs_quota_us` (version 1) of its
group and of every parent group. The parsing functions are pure.
"""


def parse_cpu_max(text: StringSlice) -> Optional[Int]:
    """Parses a `cpu.max` file of version 2: quota and period.

    Args:
        text: The content, such as `150000 100000` or `max 100000`.

    Returns:
        The number of CPUs that the quota fills, rounded up; `None` without a
        quota.
    """
    var fields = _fields(text)
    if len(fields) != 2:
        return None
    return _whole_cpus(_positive_number(fields[0]), _positive_number(fields[1]))


def parse_cfs_quota(quota: StringSlice, period: StringSlice) -> Optional[Int]:
    """Parses `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1.

    Args:
        quota: Microseconds of CPU time in each period; -1 for no limit.
        period: Microseconds.

    Returns:
        The number of CPUs that the quota fills, rounded up; `None` without a
        quota.
    """
    var quotas = _fields(quota)
    var periods = _fields(period)
    if len(quotas) != 1 or len(periods) != 1:
        return None
    return _whole_cpus(
        _positive_number(quotas[0]), _positive_number(periods[0])
    )


def group_path(text: StringSlice, controller: StringSlice) -> Optional[String]:
    """Returns the group of a process from its `/proc/self/cgroup`.

    Args:
        text: The content: lines of `number:controllers:path`.
        controller: A controller of version 1; empty for version 2.

    Returns:
        The path below the mount point, starting with a slash; `/` if the group
        is outside the mounted tree.
    """
    for line in text.split("\n"):
        var first = line.find(":")
        if first < 0:
            continue
        var rest = line[byte = first + 1 : line.byte_length()]
        var second = rest.find(":")
        if second < 0:
            continue
        var path = rest[byte = second + 1 : rest.byte_length()]
        if not path.startswith("/"):
            continue
        for name in rest[byte=0:second].split(","):
            if name == controller:
                if path.startswith("/.."):
                    return String("/")
                return String(path)
    return None


def groups_upwards(path: StringSlice) -> List[String]:
    """Returns a group and all its parents, each of which may have a quota.

    Args:
        path: A path that starts with a slash.

    Returns:
        The paths without a slash at the end; the last one is empty.
    """
    var groups = List[String]()
    var end = path.byte_length()
    var octets = path.as_bytes()
    while end > 0:
        if octets[end - 1] != UInt8(ord("/")):
            groups.append(String(path[byte=0:end]))
        while end > 0 and octets[end - 1] != UInt8(ord("/")):
            end -= 1
        while end > 0 and octets[end - 1] == UInt8(ord("/")):
            end -= 1
    groups.append(String())
    return groups^


def cpu_quota() -> Optional[Int]:
    """Returns the smallest quota of the process's groups.

    Returns:
        The number of CPUs it fills, rounded up; `None` without a quota.
    """
    var membership = _content("/proc/self/cgroup")
    var smallest = Optional[Int](None)
    var unified = group_path(membership, "")
    if unified:
        for group in groups_upwards(unified.value()):
            for mount in [
                StaticString("/sys/fs/cgroup"),
                StaticString("/sys/fs/cgroup/unified"),
            ]:
                smallest = _smaller(
                    smallest,
                    parse_cpu_max(_content(String(mount, group, "/cpu.max"))),
                )
    var divided = group_path(membership, "cpu")
    if divided:
        for group in groups_upwards(divided.value()):
            for mount in [
                StaticString("/sys/fs/cgroup/cpu"),
                StaticString("/sys/fs/cgroup/cpu,cpuacct"),
            ]:
                smallest = _smaller(
                    smallest,
                    parse_cfs_quota(
                        _content(String(mount, group, "/cpu.cfs_quota_us")),
                        _content(String(mount, group, "/cpu.cfs_period_us")),
                    ),
                )
    return smallest


def _smaller(a: Optional[Int], b: Optional[Int]) -> Optional[Int]:
    if not a:
        return b
    if not b:
        return a
    return min(a.value(), b.value())


def _content(path: String) -> String:
    try:
        with open(path, "r") as file:
            return file.read()
    except:
        return String()


def _whole_cpus(quota: Optional[Int], period: Optional[Int]) -> Optional[Int]:
    if not quota or not period:
        return None
    return (quota.value() - 1) // period.value() + 1


def _positive_number(text: String) -> Optional[Int]:
    # Fifteen digits are more than any quota has and cannot overflow.
    if text.byte_length() == 0 or text.byte_length() > 15:
        return None
    var number = 0
    for octet in text.as_bytes():
        if octet < UInt8(ord("0")) or octet > UInt8(ord("9")):
            return None
        number = number * 10 + Int(octet - UInt8(ord("0")))
    if number == 0:
        return None
    return number


def _fields(text: StringSlice) -> List[String]:
    var fields = List[String]()
    for field in text.split():
        fields.append(String(field))
    return fields^
