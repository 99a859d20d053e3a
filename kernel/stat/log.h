// SPDX-License-Identifier: MIT
/*
 * log.h - where kernel messages go: filled in by whoever drives the serial ports.
 */
#ifndef STAT_LOG_H
#define STAT_LOG_H

#include "lib/types.h"

/* Each writes text[n], which ends in a newline; `panicking`: take no lock. */
struct log_ops {
    void (*console)(const char *text, size_t n, bool panicking);
    void (*verdict)(const char *text, size_t n, bool panicking);
    void (*flush)(void); /* send what is still buffered, taking no lock */
    void (*power_off)(void);
    void (*reset)(void);
};
extern struct log_ops log_ops;

/* log_enter_panic - from now on messages take no lock. */
void log_enter_panic(void);

#endif
