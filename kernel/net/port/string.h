// SPDX-License-Identifier: MIT
/* string.h - as lwIP includes it. */
#ifdef HR_HOST
#include_next <string.h>
#else
#include "lib/string.h"
#endif
