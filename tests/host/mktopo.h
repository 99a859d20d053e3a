// SPDX-License-Identifier: MIT
/*
 * mktopo.h - a topology of equal boards, for tests.
 */
#ifndef TESTS_HOST_MKTOPO_H
#define TESTS_HOST_MKTOPO_H

#include "lgrp/lgrp.h"

/*
 * mk_topo - makes `n` boards of `ncpus` CPUs and 256 MiB; boards in the set `bare` have no memory. far(i, j): the
 * distance between different boards; NULL: 20 everywhere.
 */
void mk_topo(struct lgrp_topo *t, unsigned n, unsigned ncpus, uint64_t bare,
             uint8_t (*far)(unsigned i, unsigned j));

#endif
