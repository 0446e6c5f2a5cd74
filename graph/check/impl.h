/* impl.h - what the parts of the op check share. */
#ifndef SH_GRAPH_CHECK_IMPL_H
#define SH_GRAPH_CHECK_IMPL_H

#include "dispatch/chain.h"
#include "dispatch/filter.h"
#include "graph/check/op_check.h"

typedef enum sh_check_id {
#define SH_CHECK(name, promise) SH_CHECK_##name,
#include "graph/check/checks.def"
#undef SH_CHECK
    SH_CHECK_COUNT
} sh_check_id;

enum { SH_CHECK_TENSORS = 64, SH_CHECK_FAULTS = 64 };

typedef struct sh_fault_record {
    sh_check_id check;
    size_t sample;
    char text[400];
} sh_fault_record;

struct sh_op_report {
    char name[96];
    size_t samples, nfaults;
    size_t ran[SH_CHECK_COUNT];
    sh_fault_record faults[SH_CHECK_FAULTS];
};

/* The op under check, and the sample at hand. */
typedef struct sh_trial {
    sh_op_report *report;
    const sh_op *op;
    const sh_schema *schema;
    sh_op_check_options o;
    sh_filter *only;
    sh_arguments sample;
    size_t number;    /* of the sample; SIZE_MAX: what holds of all */
    uint32_t wrote;   /* parameters marked (a!) that some sample wrote to: a bit each */
    uint32_t given;   /* those that some sample gave a tensor */
    uint32_t shared;  /* results that in some sample shared memory as they are marked */
    uint32_t results; /* those that some sample gave a tensor of more than 0 elements */
} sh_trial;

/* Is the check wanted? Then it counts as made. */
bool sh__check_begins(sh_trial *t, sh_check_id check);
void sh__check_fault(sh_trial *t, sh_check_id check, const char *format, ...) SH_PRINTF(3, 4);
/* A fault made of the pending error, which it ends. */
void sh__check_error(sh_trial *t, sh_check_id check, const char *when);

/* ---- instances ---- copies of a sample's arguments, owned by the scope that is open */
typedef enum sh_layout {
    SH_LAYOUT_ROWS,   /* row-major */
    SH_LAYOUT_TURNED, /* axes in memory the other way round */
    SH_LAYOUT_GAPS,   /* every other element, behind an offset */
    SH_LAYOUT_META    /* no data */
} sh_layout;

/* What becomes of each tensor but numbers; NULL fields: as it is. */
typedef struct sh_shaping {
    sh_layout layout;
    sh_dtype floats; /* for floating tensors; SH_NO_DTYPE: as they are */
    int64_t emptied; /* dimensions of this size become 0; 0: none */
    bool flat;       /* 0 dimensions: the first element */
    bool
        expanded; /* all along the first dimension is what is at its beginning, by a stride of 0 but for ROWS and META */
} sh_shaping;

typedef struct sh_instance {
    sh_argument arguments[SH_MAX_ARGS + 1];
    size_t n;
    const sh_tensor *from[SH_CHECK_TENSORS];                         /* in the sample */
    sh_tensor *tensors[SH_CHECK_TENSORS], *before[SH_CHECK_TENSORS]; /* the storage's bytes, where kept */
    uint32_t params[SH_CHECK_TENSORS];
    size_t ntensors;
    sh_tensor *entries[SH_CHECK_TENSORS]; /* of lists */
    size_t nentries;
} sh_instance;

/* False and an error where memory is out, or there are too many tensors. */
bool sh__instance_make(sh_instance *in, const sh_trial *t, const sh_shaping *shaping);
bool sh__instance_remember(sh_instance *in);
/* Did the bytes behind tensor i change since? */
bool sh__instance_changed(const sh_instance *in, size_t i);

/* What a call gave, lists opened. */
typedef struct sh_outcome {
    sh_tensor *tensors[SH_CHECK_TENSORS];
    size_t n;
} sh_outcome;
sh_outcome sh__outcome_of(const sh_value *results);

/* Calls the op by `name` (NULL: its own) on the instance, with the seed set, interception off. */
sh_status sh__trial_run(const sh_trial *t, const char *name, const sh_instance *in, sh_outcome *outcome);
/* The same with the generator as it is. */
sh_status sh__trial_call(const sh_trial *t, const char *name, const sh_instance *in, sh_outcome *outcome);
/* On a new instance; `in` is optional. */
sh_status sh__trial_run_on(const sh_trial *t, const sh_shaping *shaping, sh_instance *in,
                           sh_outcome *outcome);

/* ---- comparing ---- */
/* The same shape, dtype and elements within the tolerance, NaN equal to NaN? Else `text` (200 bytes) says what differs. */
bool sh__same_values(const sh_trial *t, const sh_tensor *got, const sh_tensor *expected, bool exactly,
                     char *text);
/* All results, and all arguments that are marked as written; a fault that begins with `when` if not. */
void sh__expect_same(sh_trial *t, sh_check_id check, const char *when, const sh_outcome *got,
                     const sh_instance *got_in, const sh_outcome *expected, const sh_instance *expected_in,
                     bool exactly);
/* Shapes and dtypes alone, of a run without data; false and the fault if not. */
bool sh__expect_spec(sh_trial *t, sh_check_id shape, sh_check_id dtype, const char *when,
                     const sh_outcome *real, const sh_outcome *inferred);
/* Can it run on tensors without data? */
bool sh__trial_infers(const sh_trial *t);
/* The kernel that a backend itself has; false where it would run another's. */
bool sh__trial_has(const sh_trial *t, uint32_t backend);

/* ---- the checks ---- each on the sample at hand; `in` and `base` are a run on row-major copies */
void sh__check_memory(sh_trial *t, const sh_instance *in, const sh_outcome *base);
void sh__check_declared(sh_trial *t); /* after all samples */
void sh__check_inferred(sh_trial *t, const sh_outcome *base);
void sh__check_backends(sh_trial *t, const sh_instance *in, const sh_outcome *base);
void sh__check_layouts(sh_trial *t, const sh_instance *in, const sh_outcome *base);
void sh__check_edges(sh_trial *t);
void sh__check_dtypes(sh_trial *t);
void sh__check_repeat(sh_trial *t);
void sh__check_forms(sh_trial *t, const sh_outcome *base);
void sh__check_graphs(sh_trial *t, const sh_instance *in, const sh_outcome *base);
void sh__check_threads(sh_trial *t, const sh_instance *in, const sh_outcome *base);

/* Draws arguments that the op takes. False and no error where none were found, which ends the drawing. */
typedef struct sh_sampler sh_sampler;
struct sh_sampler {
    uint64_t state;
    sh_argument arguments[SH_MAX_ARGS];
    size_t n;
    int64_t ints[SH_MAX_ARGS][SH_MAX_DIMS];
    sh_tensor *lists[SH_MAX_ARGS][4];
};
bool sh__sample_draw(sh_sampler *s, const sh_op *op);

#endif
