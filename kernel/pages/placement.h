// SPDX-License-Identifier: MIT
/*
 * placement.h - chooses the board for a new page: the link between objects and lgrp/place.h.
 */
#ifndef PAGES_PLACEMENT_H
#define PAGES_PLACEMENT_H

#include "lgrp/lgrpstat.h"
#include "lgrp/place.h"
#include "pages/object.h"
#include "stat/trace.h"

/*
 * place_lgrp - the lgroup that the policy chooses for curthread.  The choice is counted under the policy that
 * was really used.
 */
unsigned place_lgrp(const struct placement *pl);
/*
 * place_page - allocate a block of 2^order frames for curthread.  The block lies in the lgroup that the policy
 * chooses, else in the nearest lgroup with free memory (counted as "alloc fail").  NULL: no memory, with
 * ALLOC_WAIT even after waiting.  The caller must hold no spin lock.
 * @flags  enum alloc_flags
 * @index  number of the page in its object, which chooses the colour
 * place_page_colored - like place_page(), but adds the colour offset `start` of the object to
 * `index`.
 */
struct page *place_page(const struct placement *pl, unsigned order, unsigned flags, uint64_t index);
struct page *place_page_colored(const struct placement *pl, unsigned order, unsigned flags,
                                uint64_t index, unsigned start);
/* place_count_missed - count a page that is not in `lgrp`, or is NULL, as a failed allocation there.  Returns it. */
static inline struct page *place_count_missed(struct page *pg, unsigned lgrp)
{
    if (unlikely(pg == NULL || lgrp_topo.node_lgrp[pg->node] != lgrp))
        lgrp_count(lgrp, LGRP_STAT_ALLOC_FAIL, 1);
    return pg;
}
/* place_traced - whether placements are traced.  Then only the functions above may place a page. */
static inline bool place_traced(void)
{
    return unlikely((trace_enable & (1u << TRACE_TOUCH | 1u << TRACE_FALLBACK)) != 0);
}
/*
 * place_strict - allocate a block in lgroup `lgrp` with the size and colour of `like`; NULL: none is free.
 * place_on_node - the same, of one node.  Neither sleeps.
 */
struct page *place_strict(unsigned lgrp, const struct page *like);
struct page *place_on_node(unsigned node, const struct page *like);

/* place_of_object - the placement of a page that read() or write() makes: first touch, unless there is advice. */
struct placement place_of_object(struct vm_object *o, uint64_t index);

#endif
