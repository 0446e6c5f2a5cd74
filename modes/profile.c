/* profile.c - the profile mode: calls, time, bytes and FLOPs by op (or by scope, or by caller), as a table at the end.
 *
 * Time is what the call took with everything below it. A call made inside another one that is counted (shunt exec --nested)
 * has its row, but not a second place in the total. Bytes are those of all tensor arguments and results, FLOPs those
 * of matrix products and convolutions (ops/flops.h), so that totals do not depend on how composites are split. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dispatch/memory_impl.h"
#include "dispatch/site.h"
#include "dispatch/where.h"
#include "modes/options.h"
#include "ops/flops.h"

const sh_option sh__profile_options[] = {
    {"by", SH_OPTION_CHOICE, "op", "op|scope|site",
     "one row an op, or an op in each named scope or node, or an op at each place that calls it"},
    {"sort", SH_OPTION_CHOICE, "time", "time|calls|bytes|flops|name", "order of the rows"},
    {"out", SH_OPTION_STRING, NULL, NULL, "file to write, %p is the pid; default stderr"},
    {"format", SH_OPTION_CHOICE, "table", "table|csv", "for people or for programs"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

typedef struct row {
    char *name;
    uint64_t calls, ns, bytes;
    double flops;
} row;

typedef struct profile {
    sh_selection where;
    FILE *out;
    pthread_mutex_t lock;
    row *rows;
    row total;     /* of the outermost calls */
    uint8_t place; /* in outermost[] */
    size_t nrows, capacity;
    bool csv;
    char by, sort;
} profile;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- counting ---- */

static uint64_t tensor_bytes(const sh_tensor *t) {
    return t ? (uint64_t)sh_tensor_numel(t) * sh_dtype_size(sh_tensor_dtype(t)) : 0;
}

static uint64_t call_bytes(const sh_call *call) {
    sh_tensor *tensors[64];
    double flops, declared;
    if (sh_call_cost(call, &flops, &declared) && declared > 0) return (uint64_t)declared;
    size_t n = sh_call_tensors(call, tensors, 64);
    uint64_t bytes = 0;
    for (size_t i = 0; i < (n < 64 ? n : 64); i++) bytes += tensor_bytes(tensors[i]);
    for (uint32_t i = 0; i < sh_call_nresults(call); i++) {
        const sh_tensors list = sh_value_as_tensors(sh_call_result(call, i));
        bytes += tensor_bytes(sh_value_as_tensor(sh_call_result(call, i)));
        for (size_t k = 0; k < list.n; k++) bytes += tensor_bytes(list.at[k]);
    }
    return bytes;
}

/* The row of a name; NULL if memory is out, which loses the count but not the call. */
static row *find_row(profile *p, const char *name) {
    for (size_t i = 0; i < p->nrows; i++)
        if (strcmp(p->rows[i].name, name) == 0) return &p->rows[i];
    if (p->nrows == p->capacity) {
        row *rows = realloc(p->rows, (p->capacity * 2 + 32) * sizeof *rows);
        if (!rows) return NULL;
        p->rows = rows;
        p->capacity = p->capacity * 2 + 32;
    }
    char *copy = strdup(name);
    if (!copy) return NULL;
    p->rows[p->nrows] = (row){.name = copy};
    return &p->rows[p->nrows++];
}

static void row_name(const profile *p, const sh_call *call, char *name, size_t size) {
    char site[256] = "";
    const char *path = p->by == 'c' ? sh_scope_path() : "";
    if (p->by == 'i') sh__call_site_text(call, site, sizeof site);
    snprintf(name, size, "%s%s%s%s%s", path, *path ? " " : "", sh_call_name(call), *site ? " at " : "", site);
}

static void row_add(row *r, const row *one) {
    r->calls += one->calls;
    r->ns += one->ns;
    r->bytes += one->bytes;
    r->flops += one->flops;
}

static void count(profile *p, const sh_call *call, uint64_t ns, bool nested) {
    char name[512];
    row_name(p, call, name, sizeof name);
    const row one = {.calls = 1, .ns = ns, .bytes = call_bytes(call), .flops = sh_call_flops(call)};
    pthread_mutex_lock(&p->lock);
    row *r = find_row(p, name);
    if (r) row_add(r, &one);
    if (r && !nested) row_add(&p->total, &one);
    pthread_mutex_unlock(&p->lock);
}

/* The depth, from 1, of this thread's outermost call that a profile counts now; 0: none. Depths and not a counter, since a
 * longjmp may leave a call: the next one at that depth is outermost again. Profiles beyond the eighth share a place. */
enum { PLACES = 8 };
static __thread uint32_t outermost[PLACES];

static sh_status on_call(sh_mode *mode, sh_call *call) {
    profile *p = sh_mode_user(mode);
    if (!sh_selection_match(&p->where, call)) return SH_PASS;
    uint32_t *outer = &outermost[p->place];
    const uint32_t depth = sh_call_depth(call) + 1;
    const bool nested = *outer && *outer < depth;
    if (!nested) *outer = depth;
    const uint64_t start = now_ns();
    const sh_status status = sh_next(call);
    const uint64_t ns = now_ns() - start;
    if (!nested) *outer = 0;
    SH_TRY(status);
    count(p, call, ns, nested);
    return SH_PASS;
}

/* ---- the table ---- */

static double key(const row *r, char sort) {
    return sort == 't'   ? (double)r->ns
           : sort == 'c' ? (double)r->calls
           : sort == 'b' ? (double)r->bytes
                         : r->flops;
}

static int compare(const void *a, const void *b, void *sort) {
    const row *ra = a, *rb = b;
    const char by = *(const char *)sort;
    if (by == 'n' || key(ra, by) == key(rb, by)) return strcmp(ra->name, rb->name);
    return key(ra, by) < key(rb, by) ? 1 : -1;
}

static void print_row(const profile *p, const row *r, double total_ns, int width) {
    if (p->csv) {
        fprintf(p->out, "\"%s\",%" PRIu64 ",%.3f,%" PRIu64 ",%.0f\n", r->name, r->calls, (double)r->ns / 1e3,
                r->bytes, r->flops);
        return;
    }
    fprintf(p->out, "%-*s %8" PRIu64 " %12.3f %6.1f%% %10.3f %10.3f %8.2f\n", width, r->name, r->calls,
            (double)r->ns / 1e6, total_ns > 0 ? 100 * (double)r->ns / total_ns : 0, (double)r->bytes / 1e6,
            r->flops / 1e6, r->ns ? r->flops / (double)r->ns : 0);
}

static void print_table(profile *p) {
    int width = 5;
    p->total.name = (char[]){"total"};
    qsort_r(p->rows, p->nrows, sizeof *p->rows, compare, &p->sort);
    for (size_t i = 0; i < p->nrows; i++)
        if ((int)strlen(p->rows[i].name) > width) width = (int)strlen(p->rows[i].name);
    if (p->csv)
        fprintf(p->out, "op,calls,us,bytes,flops\n");
    else
        fprintf(p->out, "%-*s %8s %12s %7s %10s %10s %8s\n", width, "op", "calls", "ms", "share", "MB",
                "MFLOP", "GFLOP/s");
    for (size_t i = 0; i < p->nrows; i++) print_row(p, &p->rows[i], (double)p->total.ns, width);
    if (!p->csv) print_row(p, &p->total, (double)p->total.ns, width);
}

static void profile_free(void *user) {
    profile *p = user;
    if (p->out && p->nrows) print_table(p);
    for (size_t i = 0; i < p->nrows; i++) free(p->rows[i].name);
    free(p->rows);
    sh_selection_free(&p->where);
    sh_report_close(p->out);
    pthread_mutex_destroy(&p->lock);
    sh__free(p);
}

sh_status sh__profile_make(const sh_options *o, sh_mode **mode) {
    profile *p = sh__calloc(1, sizeof *p);
    if (!p) return SH_ERROR_MEMORY;
    pthread_mutex_init(&p->lock, NULL);
    static atomic_uint made;
    p->place = (uint8_t)(atomic_fetch_add(&made, 1) % PLACES);
    p->by = sh_option_text(o, "by")[1]; /* o[p], s[c]ope, s[i]te */
    p->csv = *sh_option_text(o, "format") == 'c';
    p->sort = *sh_option_text(o, "sort");
    sh_status status = sh_selection_read(&p->where, o);
    if (status >= 0) status = sh_report_open(sh_option_text(o, "out"), &p->out);
    if (status >= 0) {
        *mode = sh_mode_new(on_call, &(sh_mode_options){
                                         .name = "profile",
                                         .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0
                                                      ? SH_LEVEL_DISPATCH
                                                      : SH_LEVEL_FUNCTION,
                                         .kind = SH_MODE_WATCHING,
                                         .flags = sh_selection_counts(&p->where) ? SH_MODE_COUNTS_CALLS : 0,
                                         .user = p,
                                         .destroy = profile_free,
                                     });
        if (*mode) return SH_OK;
        status = sh_error()->code;
    }
    profile_free(p);
    return status;
}
