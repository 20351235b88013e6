/* A ring of io_uring on raw system calls, for one thread. */
#ifndef RING_H
#define RING_H

#include <linux/io_uring.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
    int handle; /* the registered index of the ring's descriptor */
    unsigned *submit_tail, *complete_head, *complete_tail;
    unsigned submit_mask, complete_mask;
    unsigned tail;  /* of what is queued */
    unsigned given; /* of what the kernel has been told */
    int descriptor;
    struct io_uring_sqe *submissions;
    struct io_uring_cqe *completions;
};

/* Receive buffers that the kernel picks from. */
struct buffers {
    struct io_uring_buf_ring *ring;
    char *memory;
    uint16_t tail;
};

/* Opens the ring and its sparse table of `files`, or ends the program. */
void ring_open(struct ring *ring, unsigned entries, unsigned files);

/* Gives a cleared submission; tells the kernel first where none is free. */
struct io_uring_sqe *ring_submission(struct ring *ring);

/* Submits what is queued and waits for a completion. */
void ring_turn(struct ring *ring);

/* Registers `count` buffers of `octets` each as group 0. */
void buffers_open(struct buffers *buffers, struct ring *ring, unsigned count,
                  unsigned octets);

/* Gives a buffer back; the kernel sees it after `buffers_publish`. */
static inline void buffers_return(struct buffers *buffers, unsigned number,
                                  unsigned count, unsigned octets)
{
    struct io_uring_buf *slot =
        &buffers->ring->bufs[buffers->tail++ & (count - 1)];
    slot->addr = (uintptr_t)(buffers->memory + (size_t)number * octets);
    slot->len = octets;
    slot->bid = (uint16_t)number;
}

static inline void buffers_publish(struct buffers *buffers)
{
    __atomic_store_n(&buffers->ring->tail, buffers->tail, __ATOMIC_RELEASE);
}

#endif
