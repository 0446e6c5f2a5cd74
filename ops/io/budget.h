/* budget.h - how much memory reading one file may take, so that no small file can ask for a large machine. */
#ifndef SH_OPS_IO_BUDGET_H
#define SH_OPS_IO_BUDGET_H

#include "dispatch/status.h"

typedef struct sh_budget {
    size_t limit, used;
    const char *what; /* the file's name, for the error */
} sh_budget;

/* What a file of `size` bytes may take beside itself: a constant and some multiples of its size. */
sh_budget sh__budget_for(size_t size, const char *what);
/* An error that says so when the budget is exceeded. */
sh_status sh__budget_take(sh_budget *budget, size_t bytes);
/* The same for n things of `each` bytes. */
sh_status sh__budget_take_many(sh_budget *budget, size_t n, size_t each);

#endif
