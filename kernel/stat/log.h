// SPDX-License-Identifier: MIT
/*
 * log.h - where kernel messages go.
 */
#ifndef STAT_LOG_H
#define STAT_LOG_H

#include "lib/types.h"

/* log_enter_panic - make messages take no lock from now on. */
void log_enter_panic(void);

/* ---- implemented by main.c ---- */
/*
 * console_write, verdict_write - write text[n], which ends in a newline, to a serial port.  With `panicking`
 *                                these functions take no lock.
 * serial_flush - send all buffered output, without taking a lock.
 * power_off - switch the machine off; returns if it cannot be switched off.
 * reset_machine - restart the machine.
 */
void console_write(const char *text, size_t n, bool panicking);
void verdict_write(const char *text, size_t n, bool panicking);
void serial_flush(void);
void power_off(void);
void reset_machine(void);

#endif
