/* Reports on stdout when a file is synced, so that a test can compare it with the replies.
 *
 * Loaded into an actor with LD_PRELOAD. Wraps fsync and fdatasync: prints `syncing NAME`, calls the
 * real function, and prints `synced NAME` if it succeeded; each line is one write. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void report(const char *event, int fd)
{
    char link[64], path[4096], line[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    int size = snprintf(line, sizeof line, "%s %s\n", event, slash ? slash + 1 : path);
    if (write(STDOUT_FILENO, line, size) != size)
        _exit(1); /* The reader is gone: the test has ended. */
}

static int sync_and_report(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    report("syncing", fd);
    int outcome = real(fd);
    if (outcome == 0)
        report("synced", fd);
    return outcome;
}

int fsync(int fd)
{
    return sync_and_report("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_and_report("fdatasync", fd);
}
