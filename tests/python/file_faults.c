/* Fails calls on files, as systems and disks do: SENDFILE_FAILS is an errno.
 * COPIES_FAIL lets no octets of a file be copied but the one that shows whether
 * it is in the page cache. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int failure(const char *name)
{
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

ssize_t sendfile(int target, int source, off_t *offset, size_t count)
{
    errno = failure("SENDFILE_FAILS");
    if (errno != 0)
        return -1;
    return syscall(SYS_sendfile, target, source, offset, count);
}

ssize_t preadv2(int file, const struct iovec *parts, int count, off_t offset,
                int flags)
{
    errno = failure("COPIES_FAIL");
    if (errno != 0 && parts[0].iov_len > 1)
        return -1;
    return syscall(SYS_preadv2, file, parts, count, offset, 0, flags);
}
