/* held.h - values that outlive the scope that made them.
 *
 * Held is one reference to the tensor, or a list with one to each; numbers, strings and lists of integers are only
 * borrowed from whoever gave them. */
#ifndef SH_GRAPH_HELD_H
#define SH_GRAPH_HELD_H

#include "dispatch/status.h"
#include "dispatch/value.h"

/* What a value is that isn't there (yet, or any more); no value of a program. */
enum { SH__TAG_ABSENT = 255 };
static inline bool sh__is_absent(sh_value value) { return value.tag == SH__TAG_ABSENT; }
static inline sh_value sh__absent(void) {
    sh_value v = {SH__TAG_ABSENT, 0, {0}};
    return v;
}

/* Takes the references; a list becomes a new one. On an error nothing is held. */
sh_status sh__value_hold(sh_value *value);
/* Gives them back; the value is absent then. */
void sh__value_drop(sh_value *value);
/* Hands what is held to the current scope; on an error it is dropped. */
sh_status sh__value_own(sh_value *value);

#endif
