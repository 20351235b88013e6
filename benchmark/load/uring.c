/* Setting up the ring, and entering the kernel. */
#define _GNU_SOURCE
#include "uring.h"

#include <errno.h>
#include <linux/time_types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What <linux/io_uring.h> of older kernels lacks. */
#ifndef IORING_FEAT_MIN_TIMEOUT
#define IORING_FEAT_MIN_TIMEOUT (1U << 15)
#endif
struct waiting {
    uint64_t signals;
    uint32_t signals_octets;
    uint32_t least_microseconds;
    uint64_t timeout;
};

enum { SUBMISSIONS = 4096, BUFFERS_MIN = 64, BUFFERS_MAX = 512 };

static void fail(const char *what)
{
    fprintf(stderr, "lean: %s: %s (Linux 6.1 or newer with io_uring allowed"
            " is needed)\n", what, strerror(errno));
    exit(1);
}

static void *map(int descriptor, size_t octets, uint64_t offset)
{
    void *memory = mmap(NULL, octets, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, descriptor, (off_t)offset);
    if (memory == MAP_FAILED)
        fail("mmap of the ring");
    return memory;
}

static void *anonymous(size_t octets)
{
    void *memory = mmap(NULL, octets, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap of buffers");
    return memory;
}

static void map_rings(struct uring *ring, const struct io_uring_params *given)
{
    size_t completions_end = given->cq_off.cqes
        + given->cq_entries * sizeof(struct io_uring_cqe);
    size_t submissions_end = given->sq_off.array
        + given->sq_entries * sizeof(unsigned);
    size_t octets = completions_end > submissions_end ? completions_end
                                                      : submissions_end;
    char *rings = map(ring->descriptor, octets, IORING_OFF_SQ_RING);
    ring->submission_head = (unsigned *)(rings + given->sq_off.head);
    ring->submission_tail = (unsigned *)(rings + given->sq_off.tail);
    ring->submission_flags = (unsigned *)(rings + given->sq_off.flags);
    ring->submission_mask = given->sq_entries - 1;
    ring->submission_capacity = given->sq_entries;
    ring->submissions
        = map(ring->descriptor,
              given->sq_entries * sizeof(struct io_uring_sqe),
              IORING_OFF_SQES);
    unsigned *array = (unsigned *)(rings + given->sq_off.array);
    for (unsigned i = 0; i < given->sq_entries; i++)
        array[i] = i;
    ring->completion_head = (unsigned *)(rings + given->cq_off.head);
    ring->completion_tail = (unsigned *)(rings + given->cq_off.tail);
    ring->completion_mask = given->cq_entries - 1;
    ring->completions
        = (struct io_uring_cqe *)(rings + given->cq_off.cqes);
}

static void provide_buffers(struct uring *ring, unsigned connections)
{
    unsigned count = BUFFERS_MIN;
    while (count < connections && count < BUFFERS_MAX)
        count *= 2;
    ring->buffer_count = count;
    ring->provided = anonymous(count * sizeof(struct io_uring_buf));
    ring->buffers = anonymous((size_t)count * BUFFER_STRIDE);
    madvise(ring->buffers, (size_t)count * BUFFER_STRIDE, MADV_HUGEPAGE);
    struct io_uring_buf_reg registration = {
        .ring_addr = (uint64_t)(uintptr_t)ring->provided,
        .ring_entries = count,
    };
    if (syscall(__NR_io_uring_register, ring->descriptor,
                IORING_REGISTER_PBUF_RING, &registration, 1) < 0)
        fail("io_uring_register of buffers");
    for (unsigned i = 0; i < count; i++)
        uring_return_buffer(ring, i);
    uring_publish_buffers(ring);
}

void uring_open(struct uring *ring, unsigned connections)
{
    struct io_uring_params wanted = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN
            | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE
            | IORING_SETUP_CLAMP,
        .cq_entries = SUBMISSIONS,
    };
    while (wanted.cq_entries < 8 * connections)
        wanted.cq_entries *= 2;
    memset(ring, 0, sizeof *ring);
    ring->descriptor
        = (int)syscall(__NR_io_uring_setup, SUBMISSIONS, &wanted);
    if (ring->descriptor < 0)
        fail("io_uring_setup");
    map_rings(ring, &wanted);
    ring->can_gather = wanted.features & IORING_FEAT_MIN_TIMEOUT;
    ring->entered = ring->descriptor;
    struct io_uring_rsrc_update place = {
        .offset = UINT32_MAX,
        .data = (uint64_t)ring->descriptor,
    };
    if (syscall(__NR_io_uring_register, ring->descriptor,
                IORING_REGISTER_RING_FDS, &place, 1) == 1) {
        ring->entered = (int)place.offset;
        ring->enter_flags = IORING_ENTER_REGISTERED_RING;
    }
    provide_buffers(ring, connections);
}

void uring_enter(struct uring *ring, uint64_t nanoseconds, unsigned wanted)
{
    struct __kernel_timespec timeout = {
        .tv_sec = (int64_t)(nanoseconds / 1000000000),
        .tv_nsec = (int64_t)(nanoseconds % 1000000000),
    };
    struct waiting waiting = {
        .signals_octets = _NSIG / 8,
        .timeout = (uint64_t)(uintptr_t)&timeout,
    };
    unsigned flags = ring->enter_flags | IORING_ENTER_GETEVENTS;
    long result;
    if (wanted > 1 && ring->can_gather)
        waiting.least_microseconds = GATHER_MICROSECONDS;
    else
        wanted = 1;
    __atomic_store_n(ring->submission_tail, ring->prepared, __ATOMIC_RELEASE);
    unsigned count = uring_unsubmitted(ring);
    if (nanoseconds)
        result = syscall(__NR_io_uring_enter, ring->entered, count, wanted,
                         flags | IORING_ENTER_EXT_ARG, &waiting,
                         sizeof waiting);
    else
        result = syscall(__NR_io_uring_enter, ring->entered, count, 0, flags,
                         NULL, 0);
    if (result < 0 && errno != ETIME && errno != EINTR && errno != EBUSY
        && errno != EAGAIN)
        fail("io_uring_enter");
}
