// SPDX-License-Identifier: MIT
/* string.h - the header of that name that lwIP includes. */
#ifdef HR_HOST
#include_next <string.h>
#else
#include "lib/string.h"
#endif
