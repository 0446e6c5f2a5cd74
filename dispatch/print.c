/* print.c - a call as one line of text: "conv2d(f32[1, 3, 8, 8], f32[4, 3, 3, 3], stride=[2, 2]) -> f32[1, 4, 3, 3]". */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/chain.h"

/* Text that grows past its buffer without harm: `length` is what it would be. */
typedef struct sink {
    char *text;
    size_t size, length;
} sink;

SH_PRINTF(2, 3) static void put(sink *out, const char *format, ...) {
    const size_t at = out->length < out->size ? out->length : out->size;
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(at < out->size ? out->text + at : NULL, out->size - at, format, list);
    va_end(list);
    if (n > 0) out->length += (size_t)n;
}

static void put_tensor(sink *out, const sh_tensor *t) {
    char type[160];
    if (!t)
        put(out, "None");
    else if ((t->flags & SH_TENSOR_WRAPPED) && t->dtype == SH_F64)
        put(out, "%.9g", sh_item(t));
    else if (t->flags & SH_TENSOR_WRAPPED)
        put(out, "%" PRId64, sh_item_int(t));
    else {
        sh__tensor_print_type(t, type, sizeof type);
        put(out, "%s", type);
    }
}

static void put_value(sink *out, sh_value v) {
    switch (v.tag) {
    case SH_TAG_TENSOR: put_tensor(out, v.as.tensor); break;
    case SH_TAG_INT: put(out, "%" PRId64, v.as.i); break;
    case SH_TAG_FLOAT: put(out, "%.9g", v.as.f); break;
    case SH_TAG_FLAG: put(out, v.as.i ? "True" : "False"); break;
    case SH_TAG_STRING: put(out, "'%s'", v.as.string); break;
    case SH_TAG_DTYPE: put(out, "%s", sh_dtype_name((sh_dtype)v.as.i)); break;
    case SH_TAG_INTS:
        put(out, "[");
        for (uint32_t i = 0; i < v.count; i++) put(out, i ? ", %" PRId64 : "%" PRId64, v.as.ints[i]);
        put(out, "]");
        break;
    case SH_TAG_TENSORS:
        put(out, "[");
        for (uint32_t i = 0; i < v.count; i++) {
            if (i) put(out, ", ");
            put_tensor(out, v.as.tensors[i]);
        }
        put(out, "]");
        break;
    default: put(out, "None");
    }
}

size_t sh_value_print(sh_value value, char *text, size_t size) {
    sink out = {text, size, 0};
    put_value(&out, value);
    return out.length;
}

static void put_args(sink *out, const sh_call *call) {
    bool named = false;
    const char *separator = "";
    for (uint32_t i = 0; i < call->nargs; i++) {
        const sh_param *param = &call->schema->params[i];
        if (param->has_default && sh_value_equal(call->args[i], param->value)) {
            named = true;
            continue;
        }
        put(out, "%s", separator);
        separator = ", ";
        if (named || param->keyword_only || param->has_default) put(out, "%s=", param->name);
        put_value(out, call->args[i]);
    }
    if (call->variant == SH_OUT) {
        put(out, "%sout=", separator);
        put_tensor(out, call->target);
    }
}

size_t sh_call_print(const sh_call *call, char *text, size_t size) {
    sink out = {text, size, 0};
    put(&out, "%s(", sh_call_name(call));
    put_args(&out, call);
    put(&out, ")");
    for (uint32_t i = 0; call->has_result && i < call->nresults; i++) {
        const sh_tensor *t = sh_value_as_tensor(call->results[i]);
        put(&out, i ? ", " : " -> ");
        if (t && (t->flags & SH_TENSOR_WRAPPED) && i < call->schema->nreturns &&
            *call->schema->returns[i].name)
            put(&out, "%s=", call->schema->returns[i].name);
        put_value(&out, call->results[i]);
    }
    return out.length;
}
