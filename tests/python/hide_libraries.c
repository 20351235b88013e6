// Makes a machine without the libraries whose names FLARE_HIDDEN begins with,
// for a program into which this is preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    const char *hidden = getenv("FLARE_HIDDEN");

    if (!next)
        next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    if (name && hidden && strncmp(name, hidden, strlen(hidden)) == 0)
        return NULL;
    return next(name, flags);
}
