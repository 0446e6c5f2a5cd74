/* kernel.c - the kernel under all ops of the preload library: the real function.
 *
 * A call that comes as the program made it runs with the program's own words, so its bits are those that it would have got.
 * One that a mode changed, or that was made from tensors (by name, by a shadow run on copies), is run by what they say. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "interpose/machine.h"

bool wr_shows_nested(void) {
    static atomic_int known; /* 1 + the answer */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        const char *text = secure_getenv("SHUNT_NESTED");
        answer = 1 + (text && strcmp(text, "1") == 0);
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

static wr_call *call_in_flight(const sh_call *call) {
    wr_call *w = wr_call_of(sh_call_target(call));
    for (uint32_t i = 0; !w && i < sh_call_nargs(call); i++) w = wr_call_of(sh_call_tensor(call, i));
    return w;
}

static bool is_unchanged(const wr_call *w, const sh_call *call) {
    if (w->binding->entry->routine->of != sh_call_op_of(call) || w->out != sh_call_target(call)) return false;
    for (uint32_t i = 0; i < sh_call_nargs(call); i++)
        if (!sh_value_equal(w->args[i], sh_call_arg(call, i))) return false;
    return true;
}

/* ---- with the program's words ---- */

static int64_t index_of(const wr_call *w) {
    const int64_t i = w->width == 8 ? w->result->i : (int32_t)w->result->i;
    return w->binding->cblas ? i : i - 1;
}

static void keep_number(const wr_call *w, sh_tensor *t) {
    const wr_routine *r = w->binding->entry->routine;
    const void *sub = w->binding->cblas ? w->words[r->nargs + 1] : NULL;
    const int64_t index = r->returns == 'I' ? index_of(w) : 0;
    memcpy(t->data, r->returns == 'I' ? &index : sub ? sub : w->result, t->element);
}

static sh_status set_results(const wr_call *w, sh_call *call) {
    const wr_routine *r = w->binding->entry->routine;
    uint32_t n = 0;
    if (!r->nwritten) keep_number(w, sh_call_result(call, 0).as.tensor);
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->args[i].kind == WR_ARRAY && r->args[i].access != WR_IN)
            SH_TRY(sh_call_set_result(call, n++, sh_value_tensor(w->arrays[i])));
    return SH_OK;
}

static sh_status run_words(wr_call *w, sh_call *call) {
    const wr_entry *entry = w->binding->entry;
    const bool shows = wr_shows_nested();
    sh_inside inside;
    if (shows) sh_inside_show(&inside);
    w->ran = true;
    (w->binding->cblas ? entry->cblas : entry->fortran)(w->target->function, w->words, w->result);
    if (shows) sh_inside_end(&inside);
    return set_results(w, call);
}

/* ---- with what the tensors say ---- */

static wr_function find_for_caller(const wr_library *library, const char *symbol) {
    return wr_find(symbol, library->context);
}

sh_status wr_kernel(sh_call *call, void *user) {
    const wr_routine *routine = user;
    wr_call *w = call_in_flight(call);
    if (w && is_unchanged(w, call)) return run_words(w, call);
    const wr_library library = {.find = find_for_caller,
                                .context = w ? w->site : NULL,
                                .prefix = w ? w->binding->prefix : "",
                                .suffix = w ? w->binding->suffix : ""};
    return wr_run_views(call, routine, &library);
}
