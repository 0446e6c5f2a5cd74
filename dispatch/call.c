/* call.c - looking at a call and editing it.
 *
 * Edits are checked at once for kind and count; shapes and dtypes are the kernel's to check. What an
 * edit brings (a tensor made in the callback, a list on its stack) is kept until the chain ends. */
#include "dispatch/call.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/candidates.h"

/* ---- looking ---- */

const sh_op *sh_call_op_of(const sh_call *call) { return call->op; }
const sh_schema *sh_call_schema(const sh_call *call) { return call->schema; }
uint32_t sh_call_family(const sh_call *call) { return call->op->family; }
sh_variant sh_call_variant(const sh_call *call) { return (sh_variant)call->variant; }
sh_tensor *sh_call_target(const sh_call *call) { return call->target; }
uint32_t sh_call_nargs(const sh_call *call) { return call->nargs; }
bool sh_call_has_result(const sh_call *call) { return call->has_result; }
uint32_t sh_call_nresults(const sh_call *call) { return call->nresults; }
const void *sh_call_site(const sh_call *call) { return ((void *const *)call->caller)[1]; }
uint32_t sh_call_depth(const sh_call *call) { return (uint32_t)(call->frame - sh__thread.cold->frames); }
sh_value sh_call_arg(const sh_call *call, uint32_t i) { return i < call->nargs ? call->args[i] : sh_none(); }
sh_tensor *sh_call_tensor(const sh_call *call, uint32_t i) {
    return sh_value_as_tensor(sh_call_arg(call, i));
}

const char *sh_call_name(const sh_call *call) {
    static __thread char name[96];
    if (call->variant != SH_INPLACE) return call->op->name;
    const int family = (int)strcspn(call->op->name, ".");
    snprintf(name, sizeof name, "%.*s_%s", family, call->op->name, call->op->name + family);
    return name;
}

sh_value sh_call_arg_named(const sh_call *call, const char *name) {
    const int i = sh_schema_find(call->schema, name);
    return i < 0 ? sh_none() : sh_call_arg(call, (uint32_t)i);
}

sh_value sh_call_result(const sh_call *call, uint32_t i) {
    return (call->has_result || call->in_kernel) && i < call->nresults ? call->results[i] : sh_none();
}

size_t sh_call_tensors(const sh_call *call, sh_tensor **tensors, size_t capacity) {
    size_t n = 0;
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_value v = call->args[i];
        if (v.tag == SH_TAG_TENSOR && n++ < capacity) tensors[n - 1] = v.as.tensor;
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count; k++)
            if (v.as.tensors[k] && n++ < capacity) tensors[n - 1] = v.as.tensors[k];
    }
    return n;
}

uint64_t sh_call_number(const sh_call *call) {
    const sh_entry *entry = call->at;
    if (!entry || !(entry->flags & SH_ENTRY_COUNTS)) return 0;
    return sh__thread.op_number - entry->start;
}

/* ---- what edits bring ---- */

typedef struct sh_held {
    struct sh_held *next;
    sh_tensor *tensor; /* a reference, or NULL when bytes follow */
    char bytes[];
} sh_held;

static sh_held *hold(sh_call *call, size_t bytes) {
    sh_held *held = sh__alloc(sizeof *held + bytes);
    if (!held) return NULL;
    held->tensor = NULL;
    held->next = call->frame->held;
    call->frame->held = held;
    call->frame->changed |= SH_FRAME_HOLDS;
    return held;
}

static sh_status hold_tensor(sh_call *call, sh_tensor *t) {
    if (!t) return SH_OK;
    sh_held *held = hold(call, 0);
    if (!held) return SH_ERROR_MEMORY;
    held->tensor = sh_keep(t);
    return SH_OK;
}

static sh_status hold_bytes(sh_call *call, const void **bytes, size_t size) {
    sh_held *held = hold(call, size);
    if (!held) return SH_ERROR_MEMORY;
    *bytes = size ? memcpy(held->bytes, *bytes, size) : held->bytes;
    return SH_OK;
}

sh_status sh__call_hold(sh_call *call, sh_value *value) {
    const void *bytes;
    switch (value->tag) {
    case SH_TAG_TENSOR: return hold_tensor(call, value->as.tensor);
    case SH_TAG_TENSORS:
        for (uint32_t i = 0; i < value->count; i++) SH_TRY(hold_tensor(call, value->as.tensors[i]));
        bytes = value->as.tensors;
        SH_TRY(hold_bytes(call, &bytes, value->count * sizeof *value->as.tensors));
        value->as.tensors = bytes;
        return SH_OK;
    case SH_TAG_INTS:
        bytes = value->as.ints;
        SH_TRY(hold_bytes(call, &bytes, value->count * sizeof *value->as.ints));
        value->as.ints = bytes;
        return SH_OK;
    case SH_TAG_STRING:
        bytes = value->as.string;
        SH_TRY(hold_bytes(call, &bytes, strlen(value->as.string) + 1));
        value->as.string = bytes;
        return SH_OK;
    default: return SH_OK;
    }
}

void sh__held_drop(sh_frame *frame) {
    for (sh_held *held; (held = frame->held);) {
        frame->held = held->next;
        sh_release(held->tensor);
        sh__free(held);
    }
}

void sh__held_end(sh_call *call) {
    sh_value *result = &call->results[0];
    const bool may_be_held = call->variant == SH_INPLACE && call->has_result && result->tag == SH_TAG_TENSOR;
    for (sh_held *held = call->frame->held; may_be_held && held; held = held->next) {
        if (held->tensor != result->as.tensor) continue;
        held->tensor = NULL;
        if (!sh__own(result->as.tensor)) *result = sh_none();
        break;
    }
    sh__held_drop(call->frame);
}

/* ---- kinds ---- */

static const char *running_mode(const sh_call *call) { return call->at ? call->at->mode->name : ""; }

static sh_status wrong_kind(const sh_call *call, const sh_param *param, const sh_value *value) {
    static const char *const tags[] = {"None", "Tensor", "Tensor[]", "int",       "float",
                                       "bool", "int[]",  "str",      "ScalarType"};
    char type[32];
    sh_type_print(param, type, sizeof type);
    const char *mode = running_mode(call);
    return sh_fail(SH_ERROR_TYPE, "%s: argument %s: got %s, expected %s%s%s", call->op->name, param->name,
                   value->tag <= SH_TAG_DTYPE ? tags[value->tag] : "?", type, *mode ? "; set by mode " : "",
                   mode);
}

/* What stands for "left out" in an options struct: SH_NO_INT, SH_NO_NUMBER, no dtype. */
static bool is_left_out(const sh_param *param, const sh_value *value) {
    const sh_value no_number = sh_value_float(SH_NO_NUMBER);
    if (!param->optional) return false;
    switch (value->tag) {
    case SH_TAG_NONE: return true;
    case SH_TAG_INT:
        return param->type == SH_TYPE_DTYPE ? value->as.i == SH_NO_DTYPE
                                            : value->as.i == SH_NO_INT && param->type != SH_TYPE_TENSOR;
    case SH_TAG_FLOAT: return value->as.bits == no_number.as.bits && param->type != SH_TYPE_TENSOR;
    default: return false;
    }
}

/* A number where no number is asked for: what C makes of it for the typed function. */
static sh_status take_number(const sh_param *param, const sh_value *given, int64_t *room, sh_value *taken) {
    const bool integer = given->tag == SH_TAG_INT;
    size_t n;
    switch (param->type) {
    case SH_TYPE_TENSOR:
        *taken = sh_value_tensor(sh_tensor_from_number(*given));
        return taken->tag == SH_TAG_NONE ? sh_error()->code : SH_OK;
    case SH_TYPE_INTS:
        if (!integer || !(param->length || param->optional)) break;
        *taken = sh_value_ints((sh_ints){&given->as.i, 1});
        if (room && sh__dims_unpack(given->as.i, room, &n) && room[0] != given->as.i)
            *taken = sh_value_ints((sh_ints){room, n});
        break;
    case SH_TYPE_INT:
        if (given->tag == SH_TAG_FLAG) *taken = sh_value_int(given->as.i);
        break;
    case SH_TYPE_FLOAT: *taken = sh_value_float(sh_value_as_double(*given)); break;
    case SH_TYPE_FLAG:
        if (integer && (given->as.i == 0 || given->as.i == 1)) *taken = sh_value_flag(given->as.i == 1);
        break;
    case SH_TYPE_DTYPE:
        if (integer && given->as.i > SH_NO_DTYPE && given->as.i < SH_DTYPE_COUNT)
            *taken = sh_value_dtype((sh_dtype)given->as.i);
        break;
    default: break;
    }
    return SH_OK;
}

sh_status sh__check_arg(const sh_call *call, const sh_param *param, const sh_value *given, int64_t *room,
                        sh_value *taken) {
    static const uint32_t takes[SH_TYPE_COUNT] = {
        [SH_TYPE_TENSOR] = 1u << SH_TAG_TENSOR, [SH_TYPE_TENSORS] = 1u << SH_TAG_TENSORS,
        [SH_TYPE_SCALAR] = 7u << SH_TAG_INT,    [SH_TYPE_INT] = 1u << SH_TAG_INT,
        [SH_TYPE_INTS] = 1u << SH_TAG_INTS,     [SH_TYPE_FLOAT] = 1u << SH_TAG_FLOAT,
        [SH_TYPE_FLAG] = 1u << SH_TAG_FLAG,     [SH_TYPE_STRING] = 1u << SH_TAG_STRING,
        [SH_TYPE_DTYPE] = 1u << SH_TAG_DTYPE,
    };
    if (is_left_out(param, given)) {
        *taken = sh_none();
        return SH_OK;
    }
    *taken = *given;
    if (sh_value_is_number(*given)) SH_TRY(take_number(param, given, room, taken));
    if (taken->tag > SH_TAG_DTYPE || !(takes[param->type] >> taken->tag & 1))
        return wrong_kind(call, param, given);
    return SH_OK;
}

/* The first entry of a list that is NULL, or -1. */
static int null_entry(const sh_value *value) {
    for (uint32_t k = 0; value->tag == SH_TAG_TENSORS && k < value->count; k++)
        if (!value->as.tensors[k]) return (int)k;
    return -1;
}

/* ---- editing ---- */

static sh_status may_edit(const sh_call *call, const char *what) {
    if (sh__error_pending()) return sh_error()->code;
    if (!call->at) return sh_fail(SH_ERROR_MODE, "%s: no mode's callback is running this call", what);
    return SH_OK;
}

sh_status sh_call_set_arg(sh_call *call, uint32_t i, sh_value value) {
    SH_TRY(may_edit(call, "sh_call_set_arg"));
    if (i >= call->nargs)
        return sh_fail(SH_ERROR_ARGUMENT, "%s has %u arguments, mode %s set number %u", call->op->name,
                       call->nargs, running_mode(call), i);
    int64_t room[SH_MAX_DIMS];
    sh_value local;
    SH_TRY(sh__check_arg(call, &call->schema->params[i], &value, room, &local));
    if (!call->schema->params[i].holes && null_entry(&local) >= 0)
        return sh_fail(SH_ERROR_NULL, "%s: argument %s: entry %d is NULL; set by mode %s", call->op->name,
                       call->schema->params[i].name, null_entry(&local), running_mode(call));
    SH_TRY(sh__call_hold(call, &local));
    sh__before_edit(call);
    call->args[i] = local;
    if (i == 0 && call->variant == SH_INPLACE) call->target = local.as.tensor;
    return SH_OK;
}

sh_status sh_call_set_arg_named(sh_call *call, const char *name, sh_value value) {
    const int i = sh_schema_find(call->schema, name);
    if (i < 0)
        return sh_fail(SH_ERROR_ARGUMENT, "%s has no argument %s, set by mode %s", call->op->name, name,
                       running_mode(call));
    return sh_call_set_arg(call, (uint32_t)i, value);
}

sh_status sh__check_result(const sh_call *call, uint32_t i, sh_value value) {
    const char *who = call->at ? "mode" : "kernel", *mode = running_mode(call);
    if (i >= call->nresults)
        return sh_fail(SH_ERROR_RESULT, "%s gives %u results, %s %s set number %u", call->op->name,
                       call->nresults, who, mode, i);
    if (null_entry(&value) >= 0)
        return sh_fail(SH_ERROR_RESULT, "%s: %s %s set a list whose entry %d is NULL", call->op->name, who,
                       mode, null_entry(&value));
    const bool list = call->schema->returns[i].type == SH_TYPE_TENSORS;
    if (value.tag != (list ? SH_TAG_TENSORS : SH_TAG_TENSOR))
        return sh_fail(SH_ERROR_RESULT, "%s: %s %s set a result of the wrong kind: expected %s",
                       call->op->name, who, mode, list ? "Tensor[]" : "Tensor");
    return SH_OK;
}

/* With an infer function, an answer must have the dtype that the op gives for the call's arguments. */
static sh_status check_answer(const sh_call *call, uint32_t i, const sh_tensor *t) {
    sh_spec specs[SH_MAX_RESULTS];
    if (!sh__op_infers(call->op) || call->in_kernel || call->schema->returns[i].written) return SH_OK;
    if (sh__call_infer(call, call->args, specs) < 0) {
        sh_clear_error();
        return SH_OK;
    }
    const sh_dtype expected = specs[i].like ? (sh_dtype)specs[i].like->dtype : specs[i].dtype;
    if (t->dtype == expected) return SH_OK;
    return sh_fail(SH_ERROR_RESULT, "%s: mode %s set a result of %s, expected %s", call->op->name,
                   running_mode(call), sh_dtype_name((sh_dtype)t->dtype), sh_dtype_name(expected));
}

sh_status sh__own_list_value(sh_value *value) {
    sh_list *list = sh__list_new(value->count);
    if (!list) return SH_ERROR_MEMORY;
    for (uint32_t i = 0; i < value->count; i++) list->at[i] = sh_keep(value->as.tensors[i]);
    if (!sh__own_list(list)) return SH_ERROR_MEMORY;
    value->as.tensors = list->at;
    return SH_OK;
}

/* What is in the record before the first result of an answer is of an earlier callback, or nothing. */
static void put_result(sh_call *call, uint32_t i, sh_value value) {
    if (!call->has_result && !call->in_kernel && !call->answered)
        memset(call->results, 0, sizeof call->results);
    call->results[i] = value;
    if (call->in_kernel && call->turn) call->turn->ready = false;
    if (call->in_kernel) return;
    bool complete = true;
    for (uint32_t k = 0; k < call->nresults; k++) complete &= call->results[k].tag != SH_TAG_NONE;
    call->has_result = complete;
    call->answered = !complete;
}

sh_status sh_call_set_result(sh_call *call, uint32_t i, sh_value value) {
    if (!call->in_kernel) SH_TRY(may_edit(call, "sh_call_set_result"));
    if (sh_value_is_number(value)) value = sh_value_tensor(sh_tensor_from_number(value));
    if (sh__error_pending()) return sh_error()->code;
    SH_TRY(sh__check_result(call, i, value));
    if (value.tag == SH_TAG_TENSORS) {
        SH_TRY(sh__own_list_value(&value));
    } else {
        SH_TRY(check_answer(call, i, value.as.tensor));
        if (call->target && value.as.tensor != call->target) SH_TRY(sh__copy_into(call, value.as.tensor));
        if (call->target)
            value.as.tensor = call->target;
        else if (!sh__own(sh_keep(value.as.tensor)))
            return SH_ERROR_MEMORY;
    }
    put_result(call, i, value);
    return SH_OK;
}

sh_status sh_call_set_tensor(sh_call *call, sh_tensor *result) {
    if (sh__error_pending()) return sh_error()->code;
    if (!result)
        return sh_fail(SH_ERROR_NULL, "%s: mode %s set NULL as result", call->op->name, running_mode(call));
    return sh_call_set_result(call, 0, sh_value_tensor(result));
}
