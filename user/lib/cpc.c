// SPDX-License-Identifier: MIT
/*
 * cpc.c - see user/include/cpc.h.
 */
#include "cpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "homeroom.h"

#define AT(field) offsetof(struct fp_counts, field)
#define NONE      ((size_t)-1)

/* An event is the sum of one or two counters.  Those in picoseconds are printed in CPU clock cycles. */
static const struct event {
    const char *name;
    size_t first, second;
    bool time;
    const char *meaning;
} event[] = {
    {"Cycle_cnt", AT(time_ps), NONE, true, "cycles"},
    {"Instr_cnt", AT(instr), NONE, false, "instructions"},
    {"DC_rd", AT(loads), NONE, false, "loads"},
    {"DC_wr", AT(stores), NONE, false, "stores"},
    {"EC_ref", AT(ec_ref), NONE, false, "references to the external cache"},
    {"EC_hit", AT(ec_hit), NONE, false, "of these, hits"},
    {"EC_misses", AT(miss_local), AT(miss_remote), false, "of these, misses"},
    {"EC_miss_local", AT(miss_local), NONE, false, "misses to memory of the CPU's own board"},
    {"EC_miss_remote", AT(miss_remote), NONE, false, "misses to memory of another board"},
    {"EC_rd_miss", AT(load_miss_local), AT(load_miss_remote), false, "misses of loads"},
    {"EC_rd_miss_local", AT(load_miss_local), NONE, false, "of these, to the CPU's own board"},
    {"EC_rd_miss_remote", AT(load_miss_remote), NONE, false, "of these, to another board"},
    {"EC_wb", AT(writeback), NONE, false, "lines written back to memory"},
    {"Re_EC_miss", AT(stall_ps), NONE, true, "cycles spent waiting for memory"},
    {"Rstall_FP_use", AT(fp_stall_ps), NONE, true,
     "cycles spent waiting for floating-point results"},
};
#define NEVENTS ((int)(sizeof event / sizeof event[0]))

static bool armed_by_us;

static uint64_t field(const struct fp_counts *c, size_t at)
{
    return at == NONE ? 0 : *(const uint64_t *)((const char *)c + at);
}

static uint64_t value(int number, const struct fp_counts *c)
{
    const struct event *e = &event[number];
    uint64_t v = field(c, e->first) + field(c, e->second), clock = fp_header()->clock_ps;

    return e->time && clock != 0 ? v / clock : v;
}

static int event_named(const char *name)
{
    for (int i = 0; i < NEVENTS; i++)
        if (strcmp(event[i].name, name) == 0)
            return i;
    return -1;
}

/* Adds one "[picN=]event" of an option to the set.  Returns 0; -1 after a message. */
static int add_event(const char *program, struct cpc_set *set, const char *word)
{
    const char *equals = strchr(word, '=');
    int pic = 0, number = event_named(equals != NULL ? equals + 1 : word);

    if (equals != NULL) {
        if (equals != word + 4 || strncmp(word, "pic", 3) != 0 || word[3] < '0' ||
            word[3] >= '0' + CPC_PICS) {
            fprintf(stderr, "%s: '%s': the counters are pic0 and pic1\n", program, word);
            return -1;
        }
        pic = word[3] - '0';
    } else {
        while (pic < CPC_PICS - 1 && set->event[pic] >= 0)
            pic++;
    }
    if (number < 0) {
        fprintf(stderr, "%s: '%s' is not an event; %s -h lists them\n", program, word, program);
        return -1;
    }
    if (set->event[pic] >= 0) {
        fprintf(stderr, "%s: '%s': pic%d is taken; use another -c\n", program, word, pic);
        return -1;
    }
    set->event[pic] = number;
    return 0;
}

int cpc_add(const char *program, struct cpc_sets *sets, const char *spec)
{
    struct cpc_set *set = &sets->set[sets->count];
    char copy[256], *rest = copy, *word;

    if (sets->count == CPC_SETS || strlen(spec) >= sizeof copy || spec[0] == '\0') {
        fprintf(stderr, "%s: -c '%.40s': %s\n", program, spec,
                sets->count == CPC_SETS ? "too many sets" : "too long or empty");
        return -1;
    }
    strcpy(copy, spec);
    set->event[0] = set->event[1] = -1;
    while ((word = strsep(&rest, ",")) != NULL)
        if (add_event(program, set, word) != 0)
            return -1;
    for (int i = 0; i < CPC_PICS; i++)
        if (set->event[i] >= 0 && i >= sets->pics)
            sets->pics = i + 1;
    sets->count++;
    return 0;
}

void cpc_header(FILE *out, const struct cpc_sets *sets)
{
    if (sets->cycles)
        fprintf(out, " %9s", "%tick");
    for (int i = 0; i < sets->pics; i++)
        fprintf(out, "      pic%d", i);
    fprintf(out, "\n");
}

void cpc_values(FILE *out, const struct cpc_sets *sets, int which, const struct fp_counts *c)
{
    const struct cpc_set *set = &sets->set[which];
    const char *comma = " # ";

    if (sets->cycles)
        fprintf(out, " %9" PRIu64, value(0, c));
    for (int i = 0; i < sets->pics; i++) {
        if (set->event[i] >= 0)
            fprintf(out, " %9" PRIu64, value(set->event[i], c));
        else
            fprintf(out, " %9s", "-");
    }
    for (int i = 0; sets->count > 1 && i < CPC_PICS; i++)
        if (set->event[i] >= 0) {
            fprintf(out, "%spic%d=%s", comma, i, event[set->event[i]].name);
            comma = ",";
        }
    fprintf(out, "\n");
}

void cpc_help(FILE *out)
{
    fprintf(
        out,
        "\nEvent specification: [picn=]event[,[picn=]event], n 0 or 1; any counter counts any event:\n\n");
    for (int i = 0; i < NEVENTS; i++)
        fprintf(out, "    %-18s %s\n", event[i].name, event[i].meaning);
    fprintf(
        out,
        "\nOnly programs are counted, not the kernel.  The names are those of UltraSPARC III where it has\n"
        "the event; the counters are the interconnect model's.\n");
}

int cpc_start(const char *program)
{
    if (fp_open() != 0) {
        if (errno == ENODEV || errno == ENOENT)
            fprintf(stderr, "%s: no model: start the machine with MODEL=fireplane\n", program);
        else
            hr_perror(program, "/dev/fireplane");
        return -1;
    }
    return cpc_arm();
}

int cpc_arm(void)
{
    if (fp_header()->armed)
        return 0;
    if (fp_arm() != 0)
        return -1;
    armed_by_us = true;
    return 0;
}

void cpc_stop(void)
{
    if (armed_by_us)
        fp_disarm();
    armed_by_us = false;
}

void cpc_difference(struct fp_counts *d, const struct fp_counts *a, const struct fp_counts *b)
{
    for (unsigned i = 0; i < sizeof *d / sizeof(uint64_t); i++)
        ((uint64_t *)d)[i] = ((const uint64_t *)a)[i] - ((const uint64_t *)b)[i];
}

void cpc_sum(struct fp_counts *sum, const struct fp_counts *a)
{
    for (unsigned i = 0; i < sizeof *sum / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += ((const uint64_t *)a)[i];
}

double cpc_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int cpc_interval(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end == text || *end != '\0' || !(*seconds >= 0 && *seconds <= 86400) ? -1 : 0;
}
