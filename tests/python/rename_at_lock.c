/* Renames a file before the first lock: as another process that held the lock
 * would do between the open and the lock of this one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int flock(int descriptor, int operation)
{
    static int calls;
    if (calls++ == 0)
        rename(getenv("RENAMED"), getenv("RENAMED_TO"));
    int (*lock)(int, int) = dlsym(RTLD_NEXT, "flock");
    return lock(descriptor, operation);
}
