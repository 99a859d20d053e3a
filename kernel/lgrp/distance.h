// SPDX-License-Identifier: MIT
/*
 * distance.h - the two halves of the topology code to each other; nobody else includes it.
 */
#ifndef LGRP_DISTANCE_H
#define LGRP_DISTANCE_H

#include "lgrp/lgrp.h"

/* lgrp_find_distances - fill node_lat, high_end and uniform from SLIT, HMAT or made-up numbers.
 */
void lgrp_find_distances(struct lgrp_topo *t, const struct lgrp_input *in);
/* lgrp_note - remember a line for the console. */
void lgrp_note(struct lgrp_topo *t, const char *line);

#endif
