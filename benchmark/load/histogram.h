/* Latencies in nanoseconds, in buckets that grow with them.
 *
 * An octave is split in 128, so a bucket is at most 1/128 of its lower bound
 * wide, and its middle is at most 0.4 % off any value in it. */
#ifndef LEAN_HISTOGRAM_H
#define LEAN_HISTOGRAM_H

#include <stdint.h>

enum {
    STEP_BITS = 7,
    STEPS = 1 << STEP_BITS,
    BUCKETS = (64 - STEP_BITS + 1) * STEPS
};

struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t buckets[BUCKETS];
};

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    unsigned index = (unsigned)value;
    if (value >= STEPS) {
        unsigned shift = 63 - (unsigned)__builtin_clzll(value) - STEP_BITS;
        index = (shift << STEP_BITS) + (unsigned)(value >> shift);
    }
    histogram->buckets[index]++;
    histogram->count++;
    if (value > histogram->max)
        histogram->max = value;
}

static inline void histogram_merge(struct histogram *histogram,
                                   const struct histogram *other)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        histogram->buckets[i] += other->buckets[i];
    histogram->count += other->count;
    if (other->max > histogram->max)
        histogram->max = other->max;
}

/* Returns the middle of the bucket that holds the value with `share` of all
 * values at or below it. */
static inline double histogram_quantile(const struct histogram *histogram,
                                        double share)
{
    double wanted = share * (double)histogram->count;
    uint64_t seen = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (!histogram->buckets[i] || (double)seen < wanted)
            continue;
        if (i < STEPS)
            return i;
        unsigned shift = (i >> STEP_BITS) - 1;
        uint64_t lowest = (uint64_t)(i - (shift << STEP_BITS)) << shift;
        double middle = (double)lowest
            + ((double)((uint64_t)1 << shift) - 1) / 2;
        return middle < (double)histogram->max ? middle
                                               : (double)histogram->max;
    }
    return 0;
}

/* Latencies in windows of so many answers. Whatever halts the machine for some
 * milliseconds now and then spoils the tail of a whole run, but that of few
 * windows: the median of what `tails` holds is the tail while nothing does. */
enum { WINDOW_COUNT = 1000, WORST_COUNT = WINDOW_COUNT / 100 + 1 };

struct windows {
    struct histogram tails;   /* the 99th percentile of each whole window */
    unsigned count;           /* of answers in the present one */
    uint64_t worst[WORST_COUNT]; /* its longest, the shortest of them first */
};

static inline void windows_add(struct windows *windows, uint64_t value)
{
    uint64_t *worst = windows->worst;
    if (value > worst[0]) {
        unsigned at = 0;
        for (; at + 1 < WORST_COUNT && worst[at + 1] < value; at++)
            worst[at] = worst[at + 1];
        worst[at] = value;
    }
    if (++windows->count < WINDOW_COUNT)
        return;
    histogram_add(&windows->tails, worst[0]);
    windows->count = 0;
    for (unsigned i = 0; i < WORST_COUNT; i++)
        worst[i] = 0;
}

#endif
