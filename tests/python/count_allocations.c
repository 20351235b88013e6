/* Counts the heap blocks that a process takes and gives back, from outside:
 * Mojo's and libc's. Preloaded by test_allocations.py and by the soak, which
 * read the counters from the file that FLARE_COUNTERS names: Mojo's blocks
 * taken, libc's, and how many of each were given back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOJO, LIBC, MOJO_FREED, LIBC_FREED, COUNTERS };
static int64_t early[COUNTERS];
static int64_t *counters = early;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FLARE_COUNTERS");
  int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (page != MAP_FAILED) counters = page;
}

static void count(int which) {
  __atomic_fetch_add(&counters[which], 1, __ATOMIC_RELAXED);
}

void *malloc(size_t n) { count(LIBC); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { count(LIBC); return __libc_calloc(n, m); }
void free(void *p) { if (p) count(LIBC_FREED); __libc_free(p); }
void *realloc(void *p, size_t n) {
  count(LIBC);
  if (p) count(LIBC_FREED);
  return __libc_realloc(p, n);
}
void *memalign(size_t a, size_t n) { count(LIBC); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
  *p = memalign(a, n);
  return *p ? 0 : 12;
}

void *KGEN_CompilerRT_AlignedAlloc(int64_t alignment, int64_t size) {
  static void *(*next)(int64_t, int64_t);
  if (!next) next = dlsym(RTLD_NEXT, "KGEN_CompilerRT_AlignedAlloc");
  count(MOJO);
  return next(alignment, size);
}

void KGEN_CompilerRT_AlignedFree(void *block) {
  static void (*next)(void *);
  if (!next) next = dlsym(RTLD_NEXT, "KGEN_CompilerRT_AlignedFree");
  if (block) count(MOJO_FREED);
  next(block);
}
