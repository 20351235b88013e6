#define _GNU_SOURCE
#include "ring.h"
#include "../limit/canned.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COMPLETIONS_PER_SUBMISSION = 4 };

/* Younger than the headers of many distributions. */
static const unsigned SETUP_NO_SQARRAY = 1U << 16;

static int enter(struct ring *ring, unsigned wait)
{
    unsigned flags = IORING_ENTER_REGISTERED_RING;
    unsigned count = ring->tail - ring->given;
    if (wait)
        flags |= IORING_ENTER_GETEVENTS;
    __atomic_store_n(ring->submit_tail, ring->tail, __ATOMIC_RELEASE);
    int done = (int)syscall(__NR_io_uring_enter, ring->handle, count, wait,
                            flags, NULL, 0);
    if (done > 0)
        ring->given += (unsigned)done;
    return done;
}

static void register_with(int descriptor, unsigned what, void *argument,
                          unsigned count)
{
    if (syscall(__NR_io_uring_register, descriptor, what, argument, count) < 0)
        fail("io_uring_register");
}

static int set_up(unsigned entries, struct io_uring_params *given, unsigned more)
{
    *given = (struct io_uring_params){
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_CQSIZE | more,
        .cq_entries = entries * COMPLETIONS_PER_SUBMISSION,
    };
    return (int)syscall(__NR_io_uring_setup, entries, given);
}

static void *map(int descriptor, size_t length, uint64_t offset)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, descriptor, (off_t)offset);
    if (memory == MAP_FAILED)
        fail("mmap");
    return memory;
}

static void map_queues(struct ring *ring, int descriptor,
                       const struct io_uring_params *given)
{
    /* One mapping holds both queues where IORING_FEAT_SINGLE_MMAP, which is
     * older than everything else used here. */
    size_t length = given->cq_off.cqes +
                    given->cq_entries * sizeof(struct io_uring_cqe);
    size_t array = given->sq_off.array + given->sq_entries * sizeof(unsigned);
    char *queues = map(descriptor, length > array ? length : array,
                       IORING_OFF_SQ_RING);
    ring->submissions =
        map(descriptor, given->sq_entries * sizeof(struct io_uring_sqe),
            IORING_OFF_SQES);
    ring->completions = (void *)(queues + given->cq_off.cqes);
    ring->submit_tail = (void *)(queues + given->sq_off.tail);
    ring->submit_mask = given->sq_entries - 1;
    ring->complete_head = (void *)(queues + given->cq_off.head);
    ring->complete_tail = (void *)(queues + given->cq_off.tail);
    ring->complete_mask = given->cq_entries - 1;
    if (given->flags & SETUP_NO_SQARRAY)
        return;
    unsigned *order = (void *)(queues + given->sq_off.array);
    for (unsigned i = 0; i < given->sq_entries; i++)
        order[i] = i;
}

void ring_open(struct ring *ring, unsigned entries, unsigned files)
{
    struct io_uring_params given;
    int descriptor = set_up(entries, &given, SETUP_NO_SQARRAY);
    if (descriptor < 0 && errno == EINVAL)
        descriptor = set_up(entries, &given, 0);
    if (descriptor < 0)
        fail("io_uring_setup");
    *ring = (struct ring){0};
    map_queues(ring, descriptor, &given);

    struct io_uring_rsrc_update own = {
        .offset = ~0U,
        .data = (uint64_t)descriptor,
    };
    register_with(descriptor, IORING_REGISTER_RING_FDS, &own, 1);
    ring->handle = (int)own.offset;

    struct io_uring_rsrc_register sparse = {
        .nr = files,
        .flags = IORING_RSRC_REGISTER_SPARSE,
    };
    register_with(descriptor, IORING_REGISTER_FILES2, &sparse, sizeof sparse);
    ring->descriptor = descriptor;
}

struct io_uring_sqe *ring_submission(struct ring *ring)
{
    if (ring->tail - ring->given > ring->submit_mask && enter(ring, 0) < 0)
        fail("io_uring_enter");
    struct io_uring_sqe *submission =
        &ring->submissions[ring->tail++ & ring->submit_mask];
    *submission = (struct io_uring_sqe){0};
    return submission;
}

void ring_turn(struct ring *ring)
{
    if (enter(ring, 1) < 0 && errno != EINTR && errno != EBUSY &&
        errno != EAGAIN)
        fail("io_uring_enter");
}

void buffers_open(struct buffers *buffers, struct ring *ring, unsigned count,
                  unsigned octets)
{
    size_t length = count * sizeof(struct io_uring_buf);
    buffers->ring = mmap(NULL, length, PROT_READ | PROT_WRITE,
                         MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    buffers->memory = aligned_alloc(4096, (size_t)count * octets);
    if (buffers->ring == MAP_FAILED || !buffers->memory)
        fail("memory");
    struct io_uring_buf_reg group = {
        .ring_addr = (uintptr_t)buffers->ring,
        .ring_entries = count,
    };
    register_with(ring->descriptor, IORING_REGISTER_PBUF_RING, &group, 1);
    buffers->tail = 0;
    for (unsigned i = 0; i < count; i++)
        buffers_return(buffers, i, count, octets);
    buffers_publish(buffers);
}
