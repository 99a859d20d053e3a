// SPDX-License-Identifier: MIT
/*
 * log.h - the output functions for kernel messages, which main.c fills in at boot.
 */
#ifndef STAT_LOG_H
#define STAT_LOG_H

#include "lib/types.h"

/* console and verdict write text[n], which ends in a newline; `panicking`: take no lock. */
struct log_ops {
    void (*console)(const char *text, size_t n, bool panicking);
    void (*verdict)(const char *text, size_t n, bool panicking);
    void (*flush)(void); /* send all buffered output; takes no lock */
    void (*power_off)(void);
    void (*reset)(void);
};
extern struct log_ops log_ops;

/* log_enter_panic - messages take no lock from now on. */
void log_enter_panic(void);

#endif
