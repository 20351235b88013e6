/* Fails calls on files, as systems and disks do: SENDFILE_FAILS is an errno.
 * COPIES_FAIL lets no octets of a file be copied but the one that shows whether
 * it is in the page cache. OPENAT2_FAILS names a file: while it is there, openat2
 * fails with the errno in it. READS names a file that becomes one octet longer
 * with each read from the begin of a file; READ_DELAY_MS lets these take time.
 * WHOLE_SECONDS lets times be as coarse as those of older file systems. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static int failure(const char *name)
{
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

static int failure_in_file(const char *name)
{
    char text[16] = "";
    const char *path = getenv(name);
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    if (read(file, text, sizeof text - 1) < 0)
        text[0] = 0;
    close(file);
    return atoi(text);
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_openat2) {
        int problem = failure_in_file("OPENAT2_FAILS");
        if (problem != 0) {
            errno = problem;
            return -1;
        }
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int statx(int folder, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict status)
{
    long result = syscall(SYS_statx, folder, path, flags, mask, status);

    if (result == 0 && failure("WHOLE_SECONDS")) {
        status->stx_mtime.tv_nsec = 0;
        status->stx_ctime.tv_nsec = 0;
    }
    return result;
}

ssize_t sendfile(int target, int source, off_t *offset, size_t count)
{
    errno = failure("SENDFILE_FAILS");
    if (errno != 0)
        return -1;
    return syscall(SYS_sendfile, target, source, offset, count);
}

ssize_t pread(int file, void *octets, size_t count, off_t offset)
{
    const char *reads = getenv("READS");
    if (reads && offset == 0) {
        int log = open(reads, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (log < 0 || write(log, "r", 1) != 1)
            abort();
        close(log);
        usleep(1000 * failure("READ_DELAY_MS"));
    }
    return syscall(SYS_pread64, file, octets, count, offset);
}

ssize_t preadv2(int file, const struct iovec *parts, int count, off_t offset,
                int flags)
{
    errno = failure("COPIES_FAIL");
    if (errno != 0 && parts[0].iov_len > 1)
        return -1;
    return syscall(SYS_preadv2, file, parts, count, offset, 0, flags);
}
