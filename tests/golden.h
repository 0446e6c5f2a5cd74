/* golden.h - the golden files: calls by name, and what torch 1.13.1 answered.
 *
 * tests/golden/golden.py is the reference of the language; a line is one call with its results:
 *
 *     add(f32[2,3]:u(1,-2,2), f32[3]{2}+1:lin(0,0.5), alpha=2) -> f32[2,3] 1 2 3 4 5 6
 *
 * golden_parse makes the arguments on a device, golden_run calls the op and compares. A case lives on
 * its caller's stack; its tensors belong to the scope that is open, its texts to the line. */
#ifndef SH_TESTS_GOLDEN_H
#define SH_TESTS_GOLDEN_H

#include <stdio.h>

#include "dispatch/byname.h"

enum { GOLDEN_TENSORS = 12, GOLDEN_RESULTS = 12, GOLDEN_INTS = 64, GOLDEN_CHARS = 256 };

/* A tensor of the line: a view laid over a storage of its own, or over that of an earlier one (@k). */
typedef struct golden_input {
    sh_tensor *storage, *view;
    void *before; /* the storage's bytes before the call; NULL until the call, and for a second view */
} golden_input;

typedef struct golden_result {
    sh_spec spec;
    int64_t strides[SH_MAX_DIMS];
    bool is_view;       /* shares storage with an argument, with these strides */
    bool is_defined;    /* false: any values will do */
    int after;          /* the input that it describes as it is after the call; -1: a result of the call */
    const char *values; /* in the line, row-major */
} golden_result;

typedef struct golden_case {
    const char *line, *at; /* the whole line, and where the reader stands */
    sh_device device;
    char op[64];
    sh_argument arguments[SH_MAX_ARGS];
    size_t narguments;
    golden_input inputs[GOLDEN_TENSORS];
    size_t ninputs;
    golden_result results[GOLDEN_RESULTS];
    size_t nresults;
    bool by_reference;   /* no results in the line: the backend ref gives them */
    bool is_list;        /* the results are the entries of one list */
    const char *refusal; /* torch's message where it refused the call, else NULL */
    sh_tensor *lists[GOLDEN_TENSORS];
    size_t nlists;
    int64_t ints[GOLDEN_INTS];
    size_t nints;
    char chars[GOLDEN_CHARS];
    size_t nchars;
    const struct sh_compile_options *compile; /* the call is run as a plan, made with these; NULL: as it is */
} golden_case;

/* Reads a line. False if it is not in the language; c->at then stands at the trouble. */
bool golden_parse(golden_case *c, const char *line, sh_device device);

/* Sets every element of a contiguous 1-d tensor by a fill, "u(1,-2,2)". Returns what follows it; NULL if none is read. */
const char *golden_fill(sh_tensor *storage, const char *fill);

/* Sets a row-major tensor by numbers between blanks, as many as it has elements. */
void golden_read(sh_tensor *t, const char *numbers);

/* Element i in row-major order of a tensor on the host: a float as double, anything else as int64_t. */
double golden_float_at(const sh_tensor *t, int64_t i);
int64_t golden_int_at(const sh_tensor *t, int64_t i);

/* Compares one tensor with a golden one, values within the tolerance of `op`. Writes what differs to
 * `report` and returns false. */
bool golden_compare(const char *op, const golden_result *expected, const sh_tensor *got, char *report,
                    size_t size);

/* Calls the op on the device that the case was read for, in the backend that is chosen, and compares. */
bool golden_run(golden_case *c, char *report, size_t size);

#endif
