/* The part of io_uring that the load client needs, in raw system calls.
 *
 * One thread owns a ring: it prepares submissions, enters the kernel once per
 * turn, and reads completions. The kernel picks receive buffers from a ring
 * of provided ones. */
#ifndef LEAN_URING_H
#define LEAN_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct uring {
    int descriptor;
    int entered;              /* the descriptor as io_uring_enter takes it */
    unsigned enter_flags;
    bool can_gather;          /* the kernel knows a least time to wait */
    unsigned *submission_head;
    unsigned *submission_tail;
    unsigned *submission_flags;
    unsigned submission_mask;
    unsigned submission_capacity;
    unsigned prepared;        /* the tail that is to be published */
    struct io_uring_sqe *submissions;
    unsigned *completion_head;
    unsigned *completion_tail;
    unsigned completion_mask;
    struct io_uring_cqe *completions;
    struct io_uring_buf_ring *provided;
    char *buffers;
    unsigned buffer_count;
    unsigned provided_tail;   /* the tail that is to be published */
};

enum { GATHER_MICROSECONDS = 100 };

/* One cache line more than a power of two: the beginnings of the buffers,
 * which is all that small answers touch, fall into different cache sets. */
enum { BUFFER_OCTETS = 64 * 1024, BUFFER_STRIDE = BUFFER_OCTETS + 64 };

/* Prepares a ring for `connections` of them; ends the process with a message
 * where the kernel refuses. */
void uring_open(struct uring *ring, unsigned connections);

/* Hands what is prepared to the kernel, runs what it has put off, and waits at
 * most `nanoseconds`, zero for not at all: until there are `wanted`
 * completions, or at least one and GATHER_MICROSECONDS have passed. */
void uring_enter(struct uring *ring, uint64_t nanoseconds, unsigned wanted);

static inline unsigned uring_unsubmitted(const struct uring *ring)
{
    return ring->prepared
        - __atomic_load_n(ring->submission_head, __ATOMIC_ACQUIRE);
}

/* Makes room for `count` submissions, so that no enter tears a chain of linked
 * ones. */
static inline void uring_reserve(struct uring *ring, unsigned count)
{
    while (uring_unsubmitted(ring) + count > ring->submission_capacity)
        uring_enter(ring, 0, 1);
}

static inline struct io_uring_sqe *
uring_prepare(struct uring *ring, uint8_t operation, int descriptor,
              uint64_t user_data)
{
    struct io_uring_sqe *submission
        = &ring->submissions[ring->prepared++ & ring->submission_mask];
    memset(submission, 0, sizeof *submission);
    submission->opcode = operation;
    submission->fd = descriptor;
    submission->user_data = user_data;
    return submission;
}

static inline bool uring_has_completions(const struct uring *ring)
{
    return *ring->completion_head
        != __atomic_load_n(ring->completion_tail, __ATOMIC_ACQUIRE);
}

/* Whether entering the kernel would bring completions. */
static inline bool uring_wants_enter(const struct uring *ring)
{
    return __atomic_load_n(ring->submission_flags, __ATOMIC_RELAXED)
        & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

static inline char *uring_buffer(const struct uring *ring, unsigned identifier)
{
    return ring->buffers + (size_t)identifier * BUFFER_STRIDE;
}

/* Gives a buffer back; the kernel sees it after uring_publish_buffers. */
static inline void uring_return_buffer(struct uring *ring, unsigned identifier)
{
    struct io_uring_buf *entry
        = &ring->provided->bufs[ring->provided_tail++
                                & (ring->buffer_count - 1)];
    entry->addr = (uint64_t)(uintptr_t)uring_buffer(ring, identifier);
    entry->len = BUFFER_OCTETS;
    entry->bid = (uint16_t)identifier;
}

static inline void uring_publish_buffers(struct uring *ring)
{
    __atomic_store_n(&ring->provided->tail, (uint16_t)ring->provided_tail,
                     __ATOMIC_RELEASE);
}

#endif
