// SPDX-License-Identifier: MIT
/* sys0.h - the attributes of AIX's device sys0 that lsattr shows and chdev changes; each is a kernel variable. */
#ifndef SYS0_H
#define SYS0_H

static const struct {
    const char *name, *description;
} sys0[] = {
    {"maxpout", "HIGH water mark for pending write I/Os per file"},
    {"minpout", "LOW water mark for pending write I/Os per file"},
};
enum { MAXPOUT, MINPOUT, NSYS0 };

#endif
