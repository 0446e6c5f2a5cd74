/* op_check.h - does an op keep what it declares? PyTorch's torch.library.opcheck.
 *
 *     sh_op_report *report;
 *     if (sh_op_check("mylib::gate", NULL, &report) < 0) {
 *         char *text = sh_op_report_text(report);        // one line a fault: "mutation: sample 0: ..."
 *         fputs(text, stderr);
 *         free(text);
 *         sh_clear_error();
 *     }
 *     sh_op_report_free(report);
 *
 * Each sample is a list of arguments. The op is called on copies of them: as they are, in other layouts, empty, in other
 * dtypes, without data, in a captured graph, from several threads, in its other forms and backends. What can't be asked of an
 * op (no ref kernel, no infer function) is left out, and the report says that it was. Interception is off meanwhile, but for
 * the checks composite, captured and traced, whose calls modes that are pushed see too.
 *
 * Without samples some are drawn from the schema: random shapes and numbers that the op takes. An op whose arguments must
 * fit in ways that chance does not hit needs samples of its own. A kernel that crashes takes the program with it. */
#ifndef SH_GRAPH_CHECK_OP_CHECK_H
#define SH_GRAPH_CHECK_OP_CHECK_H

#include "dispatch/byname.h"

SH_BEGIN_DECLS

typedef struct sh_op_check_options {
    size_t size;                 /* sizeof(sh_op_check_options) as the caller knows it; 0: as it is here */
    const sh_arguments *samples; /* borrowed; their tensors stay as they are. NULL: drawn */
    size_t nsamples;
    const char *only;  /* filter on the names of checks: "mutation|aliasing", "!threads"; NULL: all */
    double rtol, atol; /* of floating results; 0: by dtype, atol in proportion to the largest magnitude */
    uint32_t threads;  /* for the check `threads`; 0: 4 */
    uint64_t seed;     /* of drawn samples and random ops */
} sh_op_check_options;

typedef struct sh_op_report sh_op_report;

/* One broken promise. */
typedef struct sh_op_fault {
    const char *check; /* "mutation", as in checks.def */
    size_t sample;     /* which; SIZE_MAX: all of them */
    const char *text;  /* what, with numbers */
} sh_op_fault;

/* Checks the op of this name ("add", "max.dim", "mylib::gate"). SH_OK: nothing found. SH_ERROR_FINDING: faults, named in the
 * error and told by the report. SH_ERROR_OP: no such op; SH_ERROR_ARGUMENT: no sample was given, and none could be drawn.
 * The report, optional, is the caller's (sh_op_report_free); it is NULL unless the checks ran. Each fault is told once a
 * check and sample, at most 64 in all. */
SH_API sh_status sh_op_check(const char *name, const sh_op_check_options *options, sh_op_report **report);
SH_API void sh_op_report_free(sh_op_report *report);
SH_API size_t sh_op_report_count(const sh_op_report *report);
/* Fault i, borrowed from the report. */
SH_API sh_op_fault sh_op_report_fault(const sh_op_report *report, size_t i);
/* How often a check was made; 0 and no error for a name that is none. */
SH_API size_t sh_op_report_ran(const sh_op_report *report, const char *check);
/* How many samples there were. */
SH_API size_t sh_op_report_samples(const sh_op_report *report);
/* All of it for people, a line a fault, then one that counts. For free(); NULL and an error where memory is out. */
SH_API char *sh_op_report_text(const sh_op_report *report);
/* Check i by name and what it promises; false behind the last. */
SH_API bool sh_op_check_at(size_t i, const char **name, const char **promise);

SH_END_DECLS

#endif
