// SPDX-License-Identifier: MIT
/*
 * home.c - choosing the home lgroup of a thread.
 *
 * THEORY      Write here how your choice works, in your own words.
 * INVARIANTS  I1  the result is a member of cand, or LGRP_NONE (255) when cand is empty
 * SEE ALSO    home.h, tests/host/test_home.c, labs/home/README.md
 */
#include "lgrp/home.h"

#include "lib/bitmap.h"

/* This one gives every thread the same home: the kernel boots, and one board gets hot. */
unsigned lgrp_choose_home(const struct lgrp_home_in *in)
{
    return in->cand != 0 ? bit_first(in->cand) : 255;
}
