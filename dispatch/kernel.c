/* kernel.c - the end of a chain: device, slot, results, kernel (D2).
 *
 * Results are allocated from what the infer function says, then the kernel fills them. An in-place or
 * out form writes straight into its target where shape, dtype and memory allow; where they do not (another
 * dtype, overlap, an op that makes its own results) the result is computed aside and copied. */
#include <string.h>

#include "dispatch/candidates.h"
#include "dispatch/copy.h"
#include "dispatch/device_impl.h"
#include "dispatch/known.h"
#include "dispatch/walk.h"

/* ---- device ---- */

/* Meta wins over all; a 0-d host tensor joins any device. */
static sh_status join(sh_call *call, const sh_tensor *t, const char *argument, const sh_tensor **first) {
    if (!*first || t->device == SH_META || (call->device == SH_HOST && (*first)->ndim == 0)) {
        if (*first && call->device == SH_META) return SH_OK;
        *first = t;
        call->device = t->device;
        return SH_OK;
    }
    if (call->device == SH_META || t->device == call->device || (t->device == SH_HOST && t->ndim == 0))
        return SH_OK;
    return sh_fail(SH_ERROR_DEVICE, "%s: argument %s is on %s, others are on %s", call->op->name, argument,
                   sh__device_name(t->device), sh__device_name(call->device));
}

/* What a meta tensor stands for can't be written into memory. */
static sh_status check_source(const sh_call *call) {
    if (call->device != SH_META || !call->target || call->target->device == SH_META) return SH_OK;
    return sh_fail(SH_ERROR_DEVICE, "%s: %s is on %s, but other arguments are on meta and hold no data",
                   sh_call_name(call), call->variant == SH_INPLACE ? "self" : "out",
                   sh__device_name(call->target->device));
}

sh_status sh__call_scan(sh_call *call) {
    const sh_tensor *first = NULL;
    uint32_t flags = call->target ? call->target->flags : 0;
    call->device = SH_HOST;
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value *v = &call->args[i];
        sh_tensor *const *list = v->tag == SH_TAG_TENSOR    ? &v->as.tensor
                                 : v->tag == SH_TAG_TENSORS ? v->as.tensors
                                                            : NULL;
        const uint32_t n = v->tag == SH_TAG_TENSOR ? 1 : v->count;
        for (uint32_t k = 0; list && k < n; k++) {
            if (!list[k]) continue;
            flags |= list[k]->flags;
            SH_TRY(join(call, list[k], call->schema->params[i].name, &first));
        }
    }
    if (call->variant == SH_OUT) SH_TRY(join(call, call->target, "out", &first));
    SH_TRY(check_source(call));
    call->special = (flags & SH_TENSOR_SPECIAL) != 0;
    call->scanned = 1;
    return SH_OK;
}

/* What few ops but those defined at run time know how to take. */
static sh_status check_taken(const sh_call *call) {
    if (call->op->tags & (SH_OP_CUSTOM | SH_OP_TAKES_ALL)) return SH_OK;
    sh_tensor *tensors[SH_MAX_ARGS * 4];
    size_t n = sh_call_tensors(call, tensors, SH_MAX_ARGS * 4);
    if (call->target && n < SH_MAX_ARGS * 4) tensors[n++] = call->target;
    if (n > SH_MAX_ARGS * 4) n = SH_MAX_ARGS * 4;
    for (size_t i = 0; i < n; i++) {
        char type[160];
        if (!tensors[i] || !(tensors[i]->flags & (SH_TENSOR_COMPLEX | SH_TENSOR_PART))) continue;
        sh__tensor_print_type(tensors[i], type, sizeof type);
        return sh_fail(SH_ERROR_DTYPE, "%s: an argument is %s; built-in ops take no %s", call->op->name, type,
                       tensors[i]->flags & SH_TENSOR_COMPLEX ? "complex numbers" : "part of a matrix");
    }
    return SH_OK;
}

/* ---- results ---- */

/* The arguments with the target's dtype as `dtype`, in `at`: what sum, prod and cumsum compute in. */
static const sh_value *args_for_target(const sh_call *call, sh_value *at) {
    const int dtype = sh_schema_find(call->schema, "dtype");
    if (dtype < 0 || call->args[dtype].tag != SH_TAG_NONE) return call->args;
    memcpy(at, call->args, call->nargs * sizeof *at);
    at[dtype] = sh_value_dtype((sh_dtype)call->target->dtype);
    return at;
}

static sh_status infer(const sh_call *call, sh_spec *specs) {
    sh_value at[SH_MAX_ARGS];
    const bool by_target = call->target && (call->op->tags & SH_OP_TARGET_DTYPE);
    return sh__call_infer(call, by_target ? args_for_target(call, at) : call->args, specs);
}

static bool same_sizes(const sh_tensor *t, const sh_spec *spec) {
    return t->ndim == spec->ndim &&
           memcmp(t->sizes, spec->sizes, (size_t)spec->ndim * sizeof *spec->sizes) == 0;
}

static bool overlaps_an_argument(const sh_call *call) {
    sh_tensor *tensors[SH_MAX_ARGS * 4];
    const size_t n = sh_call_tensors(call, tensors, SH_MAX_ARGS * 4);
    if (n > SH_MAX_ARGS * 4) return true;
    for (size_t i = 0; i < n; i++)
        if (tensors[i] && sh__tensor_overlap(call->target, tensors[i])) return true;
    return false;
}

/* The largest kind that may be written into `to` from `from`: PyTorch's can_cast. */
static bool can_cast(sh_dtype from, sh_dtype to) { return sh_dtype_kind_of(from) <= sh_dtype_kind_of(to); }

/* Several elements in one place can't each take a value. */
static bool overlaps_itself(const sh_tensor *t) {
    bool repeats = false;
    for (int i = 0; i < t->ndim; i++) repeats |= t->strides[i] == 0 && t->sizes[i] > 1;
    return repeats && t->numel > 0;
}

static sh_status target_shape_error(const sh_call *call, const sh_spec *spec) {
    sh_tensor shape = {.ndim = (uint8_t)spec->ndim, .dtype = (uint8_t)spec->dtype};
    char got[160], expected[160];
    memcpy(shape.sizes, spec->sizes, sizeof spec->sizes);
    sh__tensor_print_type(call->target, got, sizeof got);
    sh__tensor_print_type(&shape, expected, sizeof expected);
    return sh_fail(SH_ERROR_SHAPE, "%s: the result is %s and does not fit %s, which is %s",
                   sh_call_name(call), expected, call->variant == SH_INPLACE ? "self" : "out", got);
}

static sh_status check_target(const sh_call *call, const sh_spec *spec) {
    const sh_tensor *t = call->target;
    const char *what = call->variant == SH_INPLACE ? "self" : "out";
    char got[160];
    if (!same_sizes(t, spec)) return target_shape_error(call, spec);
    const bool exact = call->variant == SH_OUT && (call->op->tags & SH_OP_EXACT);
    const bool casts = exact ? spec->dtype == (sh_dtype)t->dtype : can_cast(spec->dtype, (sh_dtype)t->dtype);
    if (casts && !overlaps_itself(t)) return SH_OK;
    sh__tensor_print_type(t, got, sizeof got);
    if (!casts)
        return sh_fail(SH_ERROR_DTYPE, "%s: a result of %s can't be cast to %s of %s", sh_call_name(call),
                       sh_dtype_name(spec->dtype), what, got);
    return sh_fail(SH_ERROR_OVERLAP,
                   "%s: several elements of %s, which is %s expanded, are one in memory; write to a clone",
                   sh_call_name(call), what, got);
}

/* As PyTorch, elementwise ops refuse a target that an argument shares other than element on element; the result of
 * others is computed aside. */
static sh_status choose_way(const sh_call *call, const sh_spec *spec, bool *straight) {
    const bool overlaps = overlaps_an_argument(call);
    *straight = !overlaps && call->target->dtype == spec->dtype;
    if (!overlaps || !(call->op->tags & SH_OP_POINTWISE)) return SH_OK;
    return sh_fail(SH_ERROR_OVERLAP,
                   "%s: %s shares some of its memory with an argument, element on another element; clone it",
                   sh_call_name(call), call->variant == SH_INPLACE ? "self" : "out");
}

/* ---- copying into a target ---- */

static sh_status (*the_copier)(sh_tensor *to, const sh_tensor *from);

void sh__set_copier(sh_status (*copier)(sh_tensor *to, const sh_tensor *from)) { the_copier = copier; }
sh_status sh__host_copy(sh_tensor *to, const sh_tensor *from) { return the_copier(to, from); }

static sh_status check_result(const sh_call *call, const sh_tensor *result) {
    sh_spec spec = {.dtype = (sh_dtype)result->dtype, .ndim = result->ndim};
    memcpy(spec.sizes, result->sizes, sizeof result->sizes);
    return check_target(call, &spec);
}

sh_status sh__copy_into(const sh_call *call, sh_tensor *from) {
    sh_tensor *to = call->target;
    if (from == to) return SH_OK;
    if (from->device != to->device)
        return sh_fail(SH_ERROR_DEVICE, "%s: the result is on %s, %s is on %s", sh_call_name(call),
                       sh__device_name(from->device), call->variant == SH_INPLACE ? "self" : "out",
                       sh__device_name(to->device));
    SH_TRY(check_result(call, from));
    return sh__is_remote(to)       ? sh__device_copy(to, from)
           : to->device == SH_META ? SH_OK
                                   : the_copier(to, from);
}

static sh_status (*the_copying_op)(sh_tensor *to, sh_tensor *from);

void sh__set_copying_op(sh_status (*op)(sh_tensor *to, sh_tensor *from)) { the_copying_op = op; }

/* That a composite writes to its target is seen by the modes that see what it is made of. A trace's result is without data, a
 * target from outside has some: copy_ knows what to do. */
static sh_status copy_by_op(const sh_call *call, sh_tensor *from) {
    if (from == call->target) return SH_OK;
    SH_TRY(check_result(call, from));
    return the_copying_op(call->target, from);
}

static sh_status copy_to_target(sh_call *call, const sh_slot *slot) {
    sh_tensor *from = call->results[0].as.tensor;
    const bool by_op = slot->composite && !sh__is_remote(call->target);
    SH_TRY(by_op ? copy_by_op(call, from) : sh__copy_into(call, from));
    call->results[0] = sh_value_tensor(call->target);
    return SH_OK;
}

static void target_written(const sh_call *call) {
    if (call->target->storage)
        atomic_fetch_add_explicit(&call->target->storage->version, 1, memory_order_relaxed);
}

/* ---- running a slot ---- */

static sh_status call_boxed(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    sh_turn *outer = call->in_kernel ? call->turn : NULL;
    const uint8_t was = call->in_kernel;
    turn->slot = slot;
    call->in_kernel = 1;
    call->turn = turn;
    sh_status status = slot->boxed(call, slot->user);
    call->in_kernel = was;
    call->turn = outer;
    return status == SH_PASS && turn->ran ? SH_OK : status; /* it only looked */
}

/* SH_PASS: a boxed kernel declined. */
static sh_status call_slot(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    sh_status status;
    if (slot->form == SH_FORM_INFER_ONLY) return SH_OK;
    if (slot->form == SH_FORM_BOXED) {
        status = call_boxed(call, slot, turn);
        if (status == SH_PASS && !sh__error_pending()) return status;
    } else {
        const sh_thunk thunk = slot->form == SH_FORM_OUT ? call->op->thunk_out : call->op->thunk_returns;
        status = thunk(slot->typed, call->results, call->args);
    }
    if (status < 0 || sh__error_pending()) return sh__error_ensure(status);
    return SH_OK;
}

/* ---- what the schema of a run-time op marks ---- */

/* The argument with the letter of result i; NONE if it has none, or was not given. */
static sh_value aliased_argument(const sh_call *call, uint32_t i) {
    const sh_param *params = call->schema->params;
    for (uint32_t k = 0; k < call->nargs; k++)
        if (params[k].alias == call->schema->returns[i].alias) return call->args[k];
    return sh_none();
}

/* A result (a!) is its argument. */
static sh_status give_back(sh_call *call) {
    for (uint32_t i = 0; i < call->nresults; i++) {
        if (!call->schema->returns[i].written) continue;
        sh_value v = aliased_argument(call, i);
        if (v.tag == SH_TAG_TENSORS) SH_TRY(sh__own_list_value(&v));
        if (v.tag == SH_TAG_TENSOR && !sh__own(sh_keep(v.as.tensor))) return SH_ERROR_MEMORY;
        call->results[i] = v;
    }
    return SH_OK;
}

static void was_written(const sh_tensor *t, bool whole) {
    if (t && t->storage) atomic_fetch_add_explicit(&t->storage->version, 1, memory_order_relaxed);
    if (t && !whole) sh__forget(t);
}

/* `whole`: the kernel came to its end. */
static void arguments_written(const sh_call *call, bool whole) {
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value *v = &call->args[i];
        if (!call->schema->params[i].written) continue;
        if (v->tag == SH_TAG_TENSOR) was_written(v->as.tensor, whole);
        for (uint32_t k = 0; v->tag == SH_TAG_TENSORS && k < v->count; k++)
            was_written(v->as.tensors[k], whole);
    }
}

/* Does the kernel make this result itself? A view, a list, what is handed back. */
static bool is_allocated(const sh_call *call, const sh_slot *slot, uint32_t i) {
    const sh_param *result = &call->schema->returns[i];
    return result->type == SH_TYPE_TENSOR && !result->written &&
           (!result->alias || slot->form == SH_FORM_INFER_ONLY);
}

/* Allocates what infer says, or puts the target there. Each new result is owned by the scope at once. */
static sh_status allocate(sh_call *call, const sh_slot *slot, bool *straight) {
    sh_spec specs[SH_MAX_RESULTS];
    SH_TRY(infer(call, specs));
    if (SH_UNLIKELY(call->target != NULL)) {
        sh__spec_fill(&specs[0]);
        SH_TRY(check_target(call, &specs[0]));
        SH_TRY(choose_way(call, &specs[0], straight));
    }
    for (uint32_t i = 0; i < call->nresults; i++) {
        if (SH_UNLIKELY(!is_allocated(call, slot, i))) continue;
        sh_tensor *t = *straight                       ? call->target
                       : call->op->tags & SH_OP_CUSTOM ? sh__tensor_alloc_any(&specs[i], call->device)
                                                       : sh__tensor_alloc(&specs[i], call->device);
        if (!t || (!*straight && !sh__own(t))) return SH_ERROR_MEMORY;
        call->results[i] = sh_value_tensor(t);
    }
    return SH_OK;
}

__thread bool sh__fills_results;

static void fill_results(const sh_call *call, bool straight) {
    sh__fills_results = false;
    for (uint32_t i = 0; i < call->nresults && !straight; i++) {
        const sh_tensor *t = sh_value_as_tensor(call->results[i]);
        if (t && t->data) memset(t->data, 0xff, (size_t)t->numel * t->element);
    }
}

static sh_status complete(const sh_call *call, const sh_slot *slot) {
    for (uint32_t i = 0; i < call->nresults; i++)
        if (call->results[i].tag == SH_TAG_NONE)
            return sh_fail(SH_ERROR_RESULT, "%s: kernel %s (%s) returned without result %u", call->op->name,
                           slot->backend, slot->registrant, i);
    return SH_OK;
}

/* What a kernel had ready its predecessor may fill, once. */
static sh_status prepare(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    sh_turn *outer = call->in_kernel ? call->turn : NULL;
    const bool allocates = slot->form != SH_FORM_RETURNS && sh__op_infers(call->op);
    const bool ready = outer && outer->ready;
    turn->ready = allocates;
    turn->straight = ready && allocates ? outer->straight : false;
    if (outer) outer->ready = false;
    if (ready && allocates) return SH_OK;
    call->results[0] = sh_none(); /* read even where there is none */
    for (uint32_t i = 1; i < call->nresults; i++) call->results[i] = sh_none();
    SH_TRY(allocates ? allocate(call, slot, &turn->straight) : SH_OK);
    if (SH_UNLIKELY(slot->hooked && sh__fills_results)) fill_results(call, turn->straight);
    return SH_OK;
}

static sh_status failed(sh_call *call, const sh_slot *slot, sh_status status) {
    call->has_result = 0;
    if (call->target) sh__forget(call->target);
    sh__error_at(call->op->name, "kernel", slot->backend);
    return sh__error_ensure(status);
}

/* A definition that is replaced meanwhile can do no harm: all that is marked stands in the call's own schema. */
sh_status sh__run_slot(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    if (SH_UNLIKELY(call->special) && !slot->composite) SH_TRY(check_taken(call));
    const sh_definition *d = sh__definition(call->op);
    sh_status status = prepare(call, slot, turn);
    if (SH_UNLIKELY(d && d->aliases) && status >= 0) status = give_back(call);
    if (SH_LIKELY(status >= 0)) status = call_slot(call, slot, turn);
    if (SH_UNLIKELY(d && d->writes)) arguments_written(call, status >= 0);
    if (SH_UNLIKELY(status == SH_PASS)) {
        call->has_result = 0;
        return status;
    }
    if (status >= 0 && (d || slot->form == SH_FORM_RETURNS || !sh__op_infers(call->op)))
        status = complete(call, slot);
    if (SH_UNLIKELY(call->target != NULL) && status >= 0) {
        status = copy_to_target(call, slot);
        if (status >= 0) target_written(call);
    }
    if (SH_UNLIKELY(status < 0)) return failed(call, slot, status);
    call->has_result = 1;
    return SH_OK;
}

sh_status sh__run_hidden(sh_call *call, const sh_slot *slot, sh_turn *turn) {
    sh_thread *thread = &sh__thread;
    const uint32_t mark = thread->nitems, outer_mark = call->frame->mark,
                   simple = thread->gate & SH_GATE_SIMPLE;
    const sh_state state = thread->state;
    sh_call *outer = call->frame->call; /* another record where a mode runs a kernel by itself */
    call->frame->call = call;
    call->frame->mark = mark;
    thread->gate &= ~(uint32_t)SH_GATE_SIMPLE; /* a callback may run this: what is below it is hidden too */
    thread->state.start = SH_POS_COUNT;
    thread->state.start_entry = NULL;
    thread->state.switches |= SH_OFF_OVERRIDES;
    sh_status status = sh__run_slot(call, slot, turn);
    if (thread->state.balance != state.balance && status >= 0)
        status = sh_fail(SH_ERROR_MODE, "kernel %s of %s left a mode, scope or switch open", slot->registrant,
                         call->op->name);
    thread->state = state;
    thread->gate |= simple;
    call->frame->call = outer;
    call->frame->mark = outer_mark;
    sh__scope_release(mark, call->results, status == SH_OK ? call->nresults : 0);
    return status;
}

static sh_status run_from(sh_call *call, uint32_t backend, sh_tried *tried) {
    return sh__run_candidates(call, sh__place_begin(call->op, backend), SH_HIDES, tried);
}

sh_status sh__run_kernel(sh_call *call) {
    uint32_t backend;
    if (SH_UNLIKELY(!call->scanned)) SH_TRY(sh__call_scan(call));
    const sh_slot *slot = sh__direct_slot(call, &backend);
    sh_tried tried;
    sh__tried_begin(&tried);
    if (SH_UNLIKELY(!slot)) return run_from(call, sh__backend_of(call, true), &tried);
    if (SH_LIKELY(sh__slot_is_plain(slot) && call->nresults == 1 && !call->target && !call->special))
        return sh__plain_done(call, sh__run_plain(call, slot));
    sh_turn turn = {.backend = backend};
    const sh_status status = slot->leaf ? sh__run_slot(call, slot, &turn) : sh__run_hidden(call, slot, &turn);
    if (SH_LIKELY(status != SH_PASS)) return status;
    sh__tried_add(&tried, slot, "declined");
    sh_place place = sh__place_after(call->op, backend, slot);
    return sh__run_candidates(call, place, SH_HIDES, &tried);
}
