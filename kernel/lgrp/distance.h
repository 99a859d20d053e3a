// SPDX-License-Identifier: MIT
/*
 * distance.h - private to the topology code: functions that topo.c and distance.c call in each other.
 */
#ifndef LGRP_DISTANCE_H
#define LGRP_DISTANCE_H

#include "lgrp/lgrp.h"

/* lgrp_find_distances - set node_lat, high_end and uniform from SLIT, HMAT or synthetic latencies. */
void lgrp_find_distances(struct lgrp_topo *t, const struct lgrp_input *in);
/*
 * lgrp_note - append constant `line`, for the console, to note[].  Does nothing if note[] already has
 * LGRP_NOTE_MAX lines.
 */
void lgrp_note(struct lgrp_topo *t, const char *line);

#endif
