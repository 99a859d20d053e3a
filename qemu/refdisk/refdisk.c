// SPDX-License-Identifier: MIT
/*
 * refdisk.c - a disk of the papers' days: a plugin of nbdkit that serves an image as slowly as such a disk.
 *
 * THEORY    One request at a time, in the order in which they come: whoever wants another order has to keep the queue
 *           himself.  A request takes
 *               overhead + seek(distance) + half a revolution + bytes / rate
 *           The distance is that of cylinders of heads * sectors * 512 bytes; seek(d) = seek_a + seek_b * sqrt(d) +
 *           seek_c * d ms, 0 if d is 0; the rate is that of the sectors of a track in a revolution.
 *           A request that begins where the one before it ended finds the arm in its place.  A read has no revolution
 *           to wait for either, as the disk has read on into its buffer.  A write has a whole one: its first sector
 *           was under the head when the one before it ended, and while the command comes it passes; command and wait
 *           are a revolution.  So it is large writes that are quick.  The disk has no cache for writes: one is
 *           answered when it is on the disk, and a flush takes no time.
 *           All times are divided by `scale`.  What the host needs for the image is hidden in the time of the request,
 *           unless it is longer; then it is counted as late.
 *           With `log` each request is a line: R or W, sector, sectors, time of arrival and of the answer in us since
 *           the start, and what the disk took for it, unscaled, in us.  The first line says when the start was.
 * SEE ALSO  ibm0661.toml (the parameters and their sources), tools/homeroom/disk.py, docs/disks.md
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS
#define SECTOR       512

static struct {
    const char *name;
    double value;
    int given;
} parameter[] = {
    {"rpm", 0, 0},    {"heads", 0, 0},  {"sectors", 0, 0},  {"seek_a", 0, 0},
    {"seek_b", 0, 0}, {"seek_c", 0, 0}, {"overhead", 0, 0}, {"scale", 1, 1},
};
enum { RPM, HEADS, SECTORS, SEEK_A, SEEK_B, SEEK_C, OVERHEAD, SCALE, NPARAMETERS };

static char *file_name, *log_name;
static int image = -1;
static FILE *log_file;
static uint64_t arm; /* the byte behind the last request */
static double started, late_us, busy_us;
static unsigned long nread, nwritten, nlate;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int refdisk_config(const char *key, const char *value)
{
    if (strcmp(key, "file") == 0)
        return (file_name = nbdkit_absolute_path(value)) == NULL ? -1 : 0;
    if (strcmp(key, "log") == 0)
        return (log_name = nbdkit_absolute_path(value)) == NULL ? -1 : 0;
    for (int i = 0; i < NPARAMETERS; i++)
        if (strcmp(key, parameter[i].name) == 0) {
            char *end;

            parameter[i].value = strtod(value, &end);
            parameter[i].given = 1;
            if (end == value || *end != '\0' || parameter[i].value < 0) {
                nbdkit_error("%s=%s: write a number that is not negative", key, value);
                return -1;
            }
            return 0;
        }
    nbdkit_error("no parameter '%s'", key);
    return -1;
}

static int refdisk_config_complete(void)
{
    for (int i = 0; i < NPARAMETERS; i++)
        if (!parameter[i].given) {
            nbdkit_error("%s= is missing", parameter[i].name);
            return -1;
        }
    if (file_name == NULL || parameter[RPM].value <= 0 || parameter[HEADS].value < 1 ||
        parameter[SECTORS].value < 1 || parameter[SCALE].value <= 0) {
        nbdkit_error("file=, and rpm, heads, sectors and scale above 0, are needed");
        return -1;
    }
    return 0;
}

static int refdisk_get_ready(void)
{
    image = open(file_name, O_RDWR | O_CLOEXEC);
    if (image < 0) {
        nbdkit_error("%s: %m", file_name);
        return -1;
    }
    if (log_name != NULL && (log_file = fopen(log_name, "we")) == NULL) {
        nbdkit_error("%s: %m", log_name);
        return -1;
    }
    started = now_us();
    if (log_file != NULL)
        fprintf(log_file, "# started at %.0f us of the monotonic clock\n", started);
    return 0;
}

static void *refdisk_open(int readonly)
{
    return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t refdisk_get_size(void *handle)
{
    struct stat st;

    return fstat(image, &st) == 0 ? st.st_size / SECTOR * SECTOR : -1;
}

/* What the disk needs for a request ('R' or 'W'), in us; the arm goes along. */
static double service_us(char kind, uint64_t offset, uint32_t count)
{
    double revolution = 60e6 / parameter[RPM].value;
    double cylinder = parameter[HEADS].value * parameter[SECTORS].value * SECTOR;
    double distance = fabs(floor((double)offset / cylinder) - floor((double)arm / cylinder));
    double us =
        parameter[OVERHEAD].value * 1e3 + count / (parameter[SECTORS].value * SECTOR) * revolution;

    if (offset != arm)
        us += revolution / 2;
    else if (kind == 'W')
        us += fmax(revolution - parameter[OVERHEAD].value * 1e3, 0);
    if (distance > 0)
        us += 1e3 * (parameter[SEEK_A].value + parameter[SEEK_B].value * sqrt(distance) +
                     parameter[SEEK_C].value * distance);
    arm = offset + count;
    return us;
}

/* The request that came at `came` has been carried out on the image: wait until the disk would have done it. */
static void answer(char kind, uint64_t offset, uint32_t count, double came)
{
    double us = service_us(kind, offset, count), end = came + us / parameter[SCALE].value,
           now = now_us();
    struct timespec t = {(time_t)(end / 1e6), (long)(fmod(end, 1e6) * 1e3)};

    busy_us += us;
    if (now > end) {
        nlate++;
        late_us += now - end;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
    if (log_file != NULL)
        fprintf(log_file, "%c %llu %u %.0f %.0f %.0f\n", kind, (unsigned long long)offset / SECTOR,
                count / SECTOR, came - started, now_us() - started, us);
}

static int refdisk_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
    double came = now_us();

    if (pread(image, buf, count, (off_t)offset) != (ssize_t)count) {
        nbdkit_error("read: %m");
        return -1;
    }
    nread++;
    answer('R', offset, count, came);
    return 0;
}

static int refdisk_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
                          uint32_t flags)
{
    double came = now_us();

    if (pwrite(image, buf, count, (off_t)offset) != (ssize_t)count) {
        nbdkit_error("write: %m");
        return -1;
    }
    nwritten++;
    answer('W', offset, count, came);
    return 0;
}

static int refdisk_flush(void *handle, uint32_t flags)
{
    return 0;
}

static void refdisk_close(void *handle)
{
    if (log_file != NULL) {
        fprintf(log_file, "# %lu reads, %lu writes, busy %.3f s; %lu late by %.3f s in all\n",
                nread, nwritten, busy_us / 1e6, nlate, late_us / 1e6);
        fflush(log_file);
    }
}

static struct nbdkit_plugin plugin = {
    .name = "refdisk",
    .longname = "a disk of the papers' days",
    .config = refdisk_config,
    .config_complete = refdisk_config_complete,
    .get_ready = refdisk_get_ready,
    .open = refdisk_open,
    .close = refdisk_close,
    .get_size = refdisk_get_size,
    .pread = refdisk_pread,
    .pwrite = refdisk_pwrite,
    .flush = refdisk_flush,
};

struct nbdkit_plugin *plugin_init(void); /* what the next line defines; clang wants it declared */
NBDKIT_REGISTER_PLUGIN(plugin)
