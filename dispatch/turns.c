/* turns.c - running the candidates of a call one after the other, and a kernel's way to the one before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/candidates.h"
#include "dispatch/registry.h"
#include "dispatch/watch.h"

static sh_status run_turn(sh_call *call, const sh_slot *slot, const sh_place *after, sh_sight sight) {
    const sh_registration *r = sh__registration_of(slot);
    sh_turn turn = {.after = after, .backend = after->backend};
    if (slot->composite && sight == SH_AT_LEVEL) return sh__run_composite(call, slot, &turn);
    const bool leaf = slot->leaf && !(r && r->hook && r->hook->calls_ops);
    return leaf ? sh__run_slot(call, slot, &turn) : sh__run_hidden(call, slot, &turn);
}

sh_status sh__run_turn(sh_call *call, const sh_slot *slot, const sh_place *after, sh_sight sight) {
    sh_flight flight;
    if (SH_LIKELY(!sh__verbose_has(SH_VERBOSE_CRASH))) return run_turn(call, slot, after, sight);
    sh__flight_begin(&flight, call, slot);
    const sh_status status = run_turn(call, slot, after, sight);
    sh__flight_end(&flight);
    return status;
}

/* ---- nobody answered ---- */

static bool takes_tensors(const sh_op *op) {
    const sh_schema *schema = sh_op_schema(op);
    for (uint32_t i = 0; schema && i < schema->nparams; i++)
        if (schema->params[i].type == SH_TYPE_TENSOR || schema->params[i].type == SH_TYPE_TENSORS)
            return true;
    return !schema;
}

/* What is there to know beside what is registered. */
static const char *hint(const sh_op *op, uint32_t backend) {
    if (!takes_tensors(op)) return " (it has no tensor argument to choose by)";
    if ((op->tags & SH_OP_CUSTOM) && sh_backend_device(backend) == SH_META)
        return " (tensors without data, as in a trace, need an infer function)";
    return "";
}

/* Of the backend that the call asked for, each kernel and why it did not run; if there is none, what else there is. */
static sh_status nobody(const sh_call *call, uint32_t backend, const sh_tried *tried) {
    char list[640];
    const char *name = call->op->name;
    if (sh__candidates_print(call, backend, NULL, tried, list, sizeof list))
        return sh_fail(tried->n ? SH_ERROR_DECLINED : SH_ERROR_KERNEL,
                       "%s: no kernel of backend %s takes this call: %s%s%s", name, sh_backend_name(backend),
                       list, *tried->failure ? "; the last error: " : "", tried->failure);
    char *known = sh_op_describe(call->op);
    const sh_status status = sh_fail(SH_ERROR_KERNEL, "%s: no kernel for backend %s%s; registered: %s", name,
                                     sh_backend_name(backend), hint(call->op, backend), known ? known : "?");
    free(known);
    return status;
}

/* ---- one after the other ---- */

/* SH_PASS: none is left, or the next is not for this sight. */
static sh_status run_rest(sh_call *call, sh_place *place, sh_sight sight, sh_tried *tried,
                          const sh_slot **ran) {
    for (;;) {
        const sh_slot *slot = sh__candidate_next(place, call, true);
        *ran = slot;
        if (!slot || (sight == SH_AT_LEVEL && !slot->composite)) return SH_PASS;
        const sh_status status = sh__run_guarded(call, slot, place, sight, tried);
        if (status != SH_PASS) return status;
    }
}

sh_status sh__run_candidates(sh_call *call, sh_place place, sh_sight sight, sh_tried *tried) {
    const uint32_t backend = place.backend;
    const sh_slot *ran;
    const sh_status status = run_rest(call, &place, sight, tried, &ran);
    if (status == SH_PASS && !ran && sight == SH_HIDES) return nobody(call, backend, tried);
    if (sh__verbose_has(SH_VERBOSE_DISPATCH) && ran && status != SH_PASS)
        sh__verbose_call(call, backend, ran, tried, status);
    return status;
}

/* ---- from inside a kernel ---- */

static sh_status no_predecessor(const sh_call *call, const sh_slot *slot, const sh_tried *tried) {
    if (!tried->n)
        return sh_fail(SH_ERROR_KERNEL, "sh_next_kernel: %s has no kernel before %s (%s)", call->op->name,
                       slot->registrant, slot->backend);
    char list[512] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < tried->n && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s (%s): %s", i ? "; " : "",
                              tried->at[i]->registrant, tried->at[i]->backend, tried->why[i]);
    return sh_fail(SH_ERROR_DECLINED, "%s: no kernel before %s (%s) takes this call: %s", call->op->name,
                   slot->registrant, slot->backend, list);
}

static sh_status may_go_on(const sh_call *call) {
    const sh_thread *thread = &sh__thread;
    if (sh__error_pending()) return sh_error()->code;
    if (!call || !call->in_kernel || !call->turn)
        return sh_fail(SH_ERROR_KERNEL, "sh_next_kernel: no kernel is running this call");
    if (thread->depth && thread->cold->frames[thread->depth - 1].call == call) return SH_OK;
    return sh_fail(SH_ERROR_KERNEL, "sh_next_kernel: %s is not the innermost call of this thread",
                   call->op->name);
}

sh_status sh_next_kernel(sh_call *call) {
    SH_TRY(may_go_on(call));
    sh_turn *turn = call->turn;
    sh_tried tried;
    sh__tried_begin(&tried);
    const sh_slot *ran;
    sh_place place = turn->after ? *turn->after : sh__place_after(call->op, turn->backend, turn->slot);
    const sh_sight sight = sh__thread.state.start == SH_POS_DISPATCH ? SH_AT_LEVEL : SH_HIDES;
    sh_status status = run_rest(call, &place, sight, &tried, &ran);
    if (status == SH_PASS && ran) { /* no composite any more: it sees no mode */
        sh_place here = sh__place_after(call->op, place.backend, ran);
        status = sh__run_guarded(call, ran, &here, SH_HIDES, &tried);
        if (status == SH_PASS) status = run_rest(call, &here, SH_HIDES, &tried, &ran);
    }
    turn->ran |= status == SH_OK;
    return status == SH_PASS ? no_predecessor(call, turn->slot, &tried) : status;
}

/* Does the backend work where the arguments are? A composite's (-1) works anywhere. */
static sh_status check_place(const sh_call *call, int backend) {
    const sh_device device = backend < 0 ? SH_META : sh_backend_device((uint32_t)backend);
    if (device == SH_META || (int)device == call->device) return SH_OK;
    return sh_fail(SH_ERROR_DEVICE, "%s: the arguments are on %s, backend %s works on %s", call->op->name,
                   sh__device_name(call->device), sh_backend_name((uint32_t)backend),
                   sh__device_name((int)device));
}

sh_status sh_kernel_call(sh_kernel kernel, sh_call *call) {
    const sh_slot *slot = sh__kernel_slot(kernel, call->op);
    if (!slot) return SH_ERROR_HANDLE;
    if (!call->scanned) SH_TRY(sh__call_scan(call));
    SH_TRY(check_place(call, sh_backend_find(slot->backend)));
    const sh_registration *r = sh__registration_of(slot);
    sh_turn turn = {.backend = r->column < SH_MAX_BACKENDS ? r->column : sh__backend_of(call, false)};
    const sh_status status = sh__run_hidden(call, slot, &turn);
    if (status != SH_PASS) return status;
    return sh_fail(SH_ERROR_DECLINED, "%s: kernel %s (%s) declined", call->op->name, slot->registrant,
                   slot->backend);
}

/* A call of its own on the same arguments, straight at one backend. */
sh_status sh_call_run_on(const sh_call *call, const char *backend, sh_value *results) {
    const int index = sh_backend_find(backend);
    if (index < 0) return sh_fail(SH_ERROR_KERNEL, "there is no backend %s", backend ? backend : "NULL");
    sh_value args[SH_MAX_ARGS];
    sh_call copy = *call;
    memcpy(args, call->args, call->nargs * sizeof *args);
    copy.args = args;
    if (!copy.scanned) SH_TRY(sh__call_scan(&copy));
    SH_TRY(check_place(&copy, index));
    copy.target = NULL;
    copy.at = NULL;
    copy.in_kernel = 0;
    copy.device = (int32_t)sh_backend_device((uint32_t)index);
    sh_tried tried;
    sh__tried_begin(&tried);
    SH_TRY(sh__run_candidates(&copy, sh__place_begin(copy.op, (uint32_t)index), SH_HIDES, &tried));
    memcpy(results, copy.results, sizeof copy.results);
    return SH_OK;
}
