/* table.c - writes table.c: the typed functions with their fast paths, the thunks, the table's rows.
 *
 * A typed function calls its slot at once when nothing is pushed, pending, switched or overridden and
 * the slot is typed; otherwise it boxes its arguments and runs the chain. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/gen/gen.h"

/* ---- unboxing ---- */

static void unbox(FILE *out, const sh_param *p, uint32_t i) {
    switch (p->type) {
    case SH_TYPE_TENSOR:
        fprintf(out, p->optional ? "sh_value_as_tensor(a[%u])" : "a[%u].as.tensor", i);
        break;
    case SH_TYPE_TENSORS: fprintf(out, "sh_value_as_tensors(a[%u])", i); break;
    case SH_TYPE_SCALAR: fprintf(out, "a[%u]", i); break;
    case SH_TYPE_INT:
        fprintf(out, p->optional ? "(a[%u].tag == SH_TAG_NONE ? SH_NO_INT : a[%u].as.i)" : "a[%u].as.i", i,
                i);
        break;
    case SH_TYPE_INTS: fprintf(out, "sh_value_as_ints(a[%u])", i); break;
    case SH_TYPE_FLOAT:
        fprintf(out,
                p->optional ? "(a[%u].tag == SH_TAG_NONE ? SH_NO_NUMBER : sh_value_as_double(a[%u]))"
                            : "sh_value_as_double(a[%u])",
                i, i);
        break;
    case SH_TYPE_FLAG:
        fprintf(out,
                p->optional ? "(a[%u].tag == SH_TAG_NONE ? SH_NO_FLAG : (int)a[%u].as.i)" : "a[%u].as.i != 0",
                i, i);
        break;
    case SH_TYPE_STRING: fprintf(out, "(a[%u].tag == SH_TAG_STRING ? a[%u].as.string : NULL)", i, i); break;
    default: fprintf(out, "(sh_dtype)(a[%u].tag == SH_TAG_DTYPE ? a[%u].as.i : 0)", i, i);
    }
}

static void unboxed_args(FILE *out, const op *o, const char *separator) {
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        fprintf(out, "%s", i ? ", " : separator);
        unbox(out, &o->schema->params[i], i);
    }
}

static void kernel_type(FILE *out, const op *o, bool returns) {
    fprintf(out, "typedef sh_status (*%s_%s)(", returns ? "returns" : "out", o->c);
    if (returns) fprintf(out, "sh_value *");
    for (uint32_t i = 0; !returns && i < o->schema->nreturns; i++)
        fprintf(out, i ? ", sh_tensor *" : "sh_tensor *");
    if (o->schema->nparams) fprintf(out, ", ");
    gen_kernel_params(out, o);
    fprintf(out, ");\n");
}

static void thunk(FILE *out, const op *o, bool returns) {
    const char *kind = returns ? "returns" : "out";
    kernel_type(out, o, returns);
    fprintf(out, "static sh_status %s_thunk_%s(sh_function kernel, sh_value *r, const sh_value *a) {\n", kind,
            o->c);
    if (!o->schema->nparams) fprintf(out, "    (void)a;\n");
    fprintf(out, "    return ((%s_%s)kernel)(", kind, o->c);
    if (returns) fprintf(out, "r");
    for (uint32_t i = 0; !returns && i < o->schema->nreturns; i++)
        fprintf(out, "%sr[%u].as.tensor", i ? ", " : "", i);
    unboxed_args(out, o, ", ");
    fprintf(out, ");\n}\n");
}

/* The arguments as locals under their own names, so that the infer expression of ops.def can stand as it is. */
static void infer(FILE *out, const op *o) {
    fprintf(out, "static sh_status infer_%s(const sh_value *a, sh_spec *r, void *user) {\n    (void)user;\n",
            o->c);
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        fprintf(out, "    __extension__ __auto_type %s = ", p->name);
        unbox(out, p, i);
        fprintf(out, ";\n    (void)%s;\n", p->name);
    }
    if (!o->schema->nparams) fprintf(out, "    (void)a;\n");
    fprintf(out, "    return sh_infer_%s;\n}\n", o->infer);
}

/* ---- typed functions ---- */

static void locals_from_options(FILE *out, const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (gen_is_required(p)) continue;
        if (gen_is_axes(p))
            fprintf(
                out,
                "    int64_t %s_at[SH_MAX_DIMS];\n    const sh_ints %s = sh__option_axes(options->%s, %s_at);\n",
                p->name, p->name, p->name, p->name);
        else if (p->type == SH_TYPE_INTS && p->length)
            fprintf(
                out,
                "    int64_t %s_at[%d];\n    const sh_ints %s = sh__option_list(options->%s, %d, %s_at, %d);\n",
                p->name, p->length, p->name, p->name, p->length, p->name, strcmp(p->name, "padding") != 0);
        else if (p->type == SH_TYPE_SCALAR)
            fprintf(out, "    const sh_scalar %s = sh__number(options->%s);\n", p->name, p->name);
        else
            fprintf(out, "    __extension__ __auto_type %s = options->%s;\n", p->name, p->name);
    }
}

static void box(FILE *out, const sh_param *p) {
    static const char *const makers[SH_TYPE_COUNT] = {
        [SH_TYPE_TENSORS] = "sh_value_tensors(%s)", [SH_TYPE_SCALAR] = "%s",
        [SH_TYPE_INT] = "sh_value_int(%s)",         [SH_TYPE_INTS] = "sh_value_ints(%s)",
        [SH_TYPE_FLOAT] = "sh_value_float(%s)",     [SH_TYPE_FLAG] = "sh_value_flag(%s)",
        [SH_TYPE_STRING] = "sh_value_string(%s)",   [SH_TYPE_DTYPE] = "sh_value_dtype(%s)",
    };
    if (p->optional && p->type == SH_TYPE_INT) fprintf(out, "%s == SH_NO_INT ? sh_none() : ", p->name);
    if (p->optional && p->type == SH_TYPE_FLAG) fprintf(out, "%s == SH_NO_FLAG ? sh_none() : ", p->name);
    if (p->optional && p->type == SH_TYPE_FLOAT) fprintf(out, "sh__is_no_number(%s) ? sh_none() : ", p->name);
    switch (p->type) {
    case SH_TYPE_TENSOR:
        fprintf(out, p->optional ? "sh_value_tensor(%s)" : "(sh_value){SH_TAG_TENSOR, 0, {.tensor = %s}}",
                p->name);
        break;
    case SH_TYPE_FLAG: fprintf(out, "sh_value_flag(%s != 0)", p->name); break;
    default: fprintf(out, makers[p->type], p->name);
    }
}

static void boxed_args(FILE *out, const op *o) {
    fprintf(out, "    sh_value a[SH_MAX_ARGS];\n");
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        fprintf(out, "    a[%u] = ", i);
        box(out, &o->schema->params[i]);
        fprintf(out, ";\n");
    }
}

/* The arguments as the fast path needs them, or -1: a NULL, special tensors, mixed devices and lists go the slow way. */
static bool looks(FILE *out, const op *o) {
    const char *first = NULL;
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        if (o->schema->params[i].type == SH_TYPE_TENSORS) return false;
        if (!first && o->schema->params[i].type == SH_TYPE_TENSOR && !o->schema->params[i].optional)
            first = o->schema->params[i].name;
    }
    fprintf(out, "    const int home = 1");
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (p->type != SH_TYPE_TENSOR) continue;
        if (!p->optional) fprintf(out, " && %s", p->name);
        fprintf(out,
                p->optional ? " && (!%s || (!(%s->flags & SH_TENSOR_SPECIAL)"
                            : " && !(%s->flags & SH_TENSOR_SPECIAL)",
                p->name, p->name);
        if (first && first != p->name)
            fprintf(out, " && %s->device == %s->device", p->name, first);
        else if (!first)
            fprintf(out, " && %s->device == SH_HOST", p->name);
        if (p->optional) fprintf(out, "))");
    }
    fprintf(out, first ? " ? %s->device : -1;\n" : " ? SH_HOST : -1;\n", first);
    return true;
}

static void fast_condition(FILE *out, const op *o, bool inplace) {
    fprintf(out, "    if (SH_LIKELY(home >= 0 && sh__undisturbed(thread, SH_OP_%s)", o->family);
    if (o->out && !inplace) fprintf(out, " && !options->out");
    fprintf(out, ")) {\n");
}

static void kernel_args(FILE *out, const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++) fprintf(out, ", %s", o->schema->params[i].name);
}

static void fast_out(FILE *out, const op *o) {
    fprintf(out, "        const sh_slot *slot = sh__default_slot(&sh__ops[SH_OP_%s], (uint32_t)home);\n",
            o->c);
    fprintf(out,
            "        if (SH_LIKELY(slot && slot->typed && slot->form == SH_FORM_OUT)) {\n"
            "            sh_spec r[%d];\n            sh_tensor *t[%d];\n            sh__specs_begin(r, %d);\n"
            "            if (SH_LIKELY(sh_infer_%s >= 0 && sh__fast_alloc(t, r, %d, (uint32_t)home))) {\n"
            "                if (SH_LIKELY(((out_%s)slot->typed)(",
            o->schema->nreturns, o->schema->nreturns, o->schema->nreturns, o->infer, o->schema->nreturns,
            o->c);
    for (uint32_t i = 0; i < o->schema->nreturns; i++) fprintf(out, "%st[%u]", i ? ", " : "", i);
    kernel_args(out, o);
    if (o->schema->nreturns == 1)
        fprintf(out, ") >= 0)) return sh__own(t[0]);\n");
    else {
        fprintf(out, ") >= 0 && sh__fast_own(t, %d))) return (sh_%s_result){", o->schema->nreturns, o->c);
        for (uint32_t i = 0; i < o->schema->nreturns; i++) fprintf(out, "%st[%u]", i ? ", " : "", i);
        fprintf(out, "};\n");
    }
    fprintf(out, "                sh__fast_drop(t, %d);\n            }\n", o->schema->nreturns);
    fprintf(out, "            sh__error_at(\"%s\", \"kernel\", slot->backend);\n", o->schema->name);
    if (o->schema->nreturns == 1)
        fprintf(out, "            return NULL;\n");
    else
        fprintf(out, "            return (sh_%s_result){0};\n", o->c);
    fprintf(out, "        }\n");
}

static void fast_inplace(FILE *out, const op *o) {
    fprintf(out, "        const sh_slot *slot = sh__default_slot(&sh__ops[SH_OP_%s], (uint32_t)home);\n",
            o->c);
    fprintf(
        out,
        "        if (SH_LIKELY(slot && slot->typed && slot->form == SH_FORM_OUT)) {\n            sh_spec r[1];\n            sh__specs_begin(r, 1);\n"
        "            if (SH_LIKELY(sh_infer_%s >= 0)) {\n"
        "                if (sh__fast_target(self, r%s) && ((out_%s)slot->typed)(self",
        o->infer, "", o->c);
    kernel_args(out, o);
    fprintf(
        out,
        ") >= 0) return sh__fast_written(self);\n            }\n"
        "            if (sh__error_pending()) {\n                sh__forget(self);\n                sh__error_at(\"%s_\", \"kernel\", slot->backend);\n"
        "                return NULL;\n            }\n        }\n",
        o->schema->name);
}

static void fast_returns(FILE *out, const op *o) {
    fprintf(out, "        const sh_slot *slot = sh__default_slot(&sh__ops[SH_OP_%s], (uint32_t)home);\n",
            o->c);
    fprintf(out,
            "        if (SH_LIKELY(slot && slot->typed && slot->form == SH_FORM_RETURNS)) {\n"
            "            sh_value r[SH_MAX_RESULTS];\n            const uint32_t mark = thread->nitems;\n"
            "            sh_status status = ((returns_%s)slot->typed)(r",
            o->c);
    kernel_args(out, o);
    fprintf(out,
            ");\n            if (SH_LIKELY(sh__fast_returned(status, mark, r, %d, \"%s\", slot))) return ",
            o->schema->nreturns, o->schema->name);
    if (o->schema->nreturns > 1) {
        fprintf(out, "(sh_%s_result){", o->c);
        for (uint32_t i = 0; i < o->schema->nreturns; i++)
            fprintf(out, "%sr[%u].as.tensor", i ? ", " : "", i);
        fprintf(out, "};\n            return (sh_%s_result){0};\n", o->c);
    } else {
        fprintf(out,
                o->schema->returns[0].type == SH_TYPE_TENSORS ? "sh__list_of(r[0]);\n" : "r[0].as.tensor;\n");
        fprintf(out, "            return NULL;\n");
    }
    fprintf(out, "        }\n");
}

static void slow(FILE *out, const op *o, bool inplace) {
    boxed_args(out, o);
    if (o->schema->nreturns > 1) {
        fprintf(
            out,
            "    sh_value r[SH_MAX_RESULTS];\n    if (sh__call_results(&sh__ops[SH_OP_%s], SH_FUNCTIONAL, NULL, a, r, home, __builtin_frame_address(0)) < 0)"
            " return (sh_%s_result){0};\n    return (sh_%s_result){",
            o->c, o->c, o->c);
        for (uint32_t i = 0; i < o->schema->nreturns; i++)
            fprintf(out, "%sr[%u].as.tensor", i ? ", " : "", i);
        fprintf(out, "};\n");
    } else if (o->schema->returns[0].type == SH_TYPE_TENSORS) {
        fprintf(out, "    return sh__call_list(&sh__ops[SH_OP_%s], a, __builtin_frame_address(0));\n", o->c);
    } else if (inplace) {
        fprintf(
            out,
            "    return sh__call_tensor(&sh__ops[SH_OP_%s], SH_INPLACE, %s, a, home, __builtin_frame_address(0));\n",
            o->c, o->schema->params[0].name);
    } else if (o->out) {
        fprintf(
            out,
            "    if (SH_UNLIKELY(options->out)) return sh__call_tensor(&sh__ops[SH_OP_%s], SH_OUT, options->out, a, -1, __builtin_frame_address(0));\n"
            "    return sh__call_functional(&sh__ops[SH_OP_%s], a, home, __builtin_frame_address(0));\n",
            o->c, o->c);
    } else {
        fprintf(out,
                "    return sh__call_functional(&sh__ops[SH_OP_%s], a, home, __builtin_frame_address(0));\n",
                o->c);
    }
}

static void function(FILE *out, const op *o, bool inplace) {
    if (inplace)
        fprintf(out, "sh_tensor *");
    else
        gen_return_type(out, o);
    fprintf(out, "(sh_%s%s)(", o->c, inplace ? "_" : "");
    gen_function_params(out, o);
    fprintf(out, ") {\n");
    if (o->options) fprintf(out, "    if (!options) options = &defaults_%s;\n", o->c);
    if (inplace && o->out)
        fprintf(
            out,
            "    if (options->out) {\n        sh_fail(SH_ERROR_ARGUMENT, \"%s_ takes no out\");\n        return NULL;\n    }\n",
            o->schema->name);
    locals_from_options(out, o);
    fprintf(out, "    sh_thread *thread = &sh__thread;\n");
    if (looks(out, o)) {
        fast_condition(out, o, inplace);
        if (inplace && o->form != FORM_KERNEL)
            fprintf(out, "        (void)thread;\n");
        else if (inplace)
            fast_inplace(out, o);
        else if (o->form == FORM_KERNEL || o->form == FORM_FUSED)
            fast_out(out, o);
        else
            fast_returns(out, o);
        fprintf(out, "    }\n");
    } else {
        fprintf(out, "    const int home = -1;\n    (void)thread;\n    (void)home;\n");
    }
    slow(out, o, inplace);
    fprintf(out, "}\n");
}

static void defaults(FILE *out, const op *o) {
    fprintf(out, "static const sh_%s_options defaults_%s = {SH_", o->c, o->c);
    for (const char *at = o->c; *at; at++) fputc(*at >= 'a' && *at <= 'z' ? *at - 32 : *at, out);
    fprintf(out, "_DEFAULTS};\n");
}

/* ---- rows ---- */

static void value_literal(FILE *out, const op *o, const sh_param *p) {
    const sh_value v = p->value;
    if (v.tag == SH_TAG_FLOAT && isinf(v.as.f))
        fprintf(out, "{SH_TAG_FLOAT, 0, {.f = %s__builtin_inf()}}", v.as.f < 0 ? "-" : "");
    else if (v.tag == SH_TAG_FLOAT)
        fprintf(out, "{SH_TAG_FLOAT, 0, {.f = %.17g}}", v.as.f);
    else if (v.tag == SH_TAG_STRING)
        fprintf(out, "{SH_TAG_STRING, 0, {.string = \"%s\"}}", v.as.string);
    else if (v.tag == SH_TAG_INTS)
        fprintf(out, "{SH_TAG_INTS, %u, {.ints = list_%s_%s}}", v.count, o->c, p->name);
    else
        fprintf(out, "{%u, 0, {.i = %" PRId64 "}}", v.tag, v.tag == SH_TAG_NONE ? 0 : v.as.i);
}

static void list_defaults(FILE *out, const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (!p->has_default || p->value.tag != SH_TAG_INTS) continue;
        fprintf(out, "static const int64_t list_%s_%s[] = {", o->c, p->name);
        for (uint32_t k = 0; k < p->value.count; k++) fprintf(out, "%" PRId64 ", ", p->value.as.ints[k]);
        fprintf(out, "0};\n");
    }
}

static void params(FILE *out, const op *o, const char *kind, const sh_param *list, uint32_t n) {
    fprintf(out, "static const sh_param %s_%s[] = {\n", kind, o->c);
    for (uint32_t i = 0; i < n; i++) {
        const sh_param *p = &list[i];
        fprintf(
            out,
            "    {.name = \"%s\", .type = (sh_type)%d, .optional = %d, .has_default = %d, .keyword_only = %d, .length = %d, .written = %d, .alias = %d, .value = ",
            p->name, (int)p->type, p->optional, p->has_default, p->keyword_only, p->length, p->written,
            p->alias);
        value_literal(out, o, p);
        fprintf(out, "},\n");
    }
    fprintf(out, "    {.name = \"\"},\n};\n");
}

static void schema(FILE *out, const op *o) {
    const sh_schema *s = o->schema;
    list_defaults(out, o);
    params(out, o, "params", s->params, s->nparams);
    params(out, o, "gives", s->returns, s->nreturns);
    fprintf(out, "static const sh_schema schema_%s = {\"%s\", \"%s\", ", o->c, s->name, s->family);
    fprintf(out, "\"");
    for (const char *at = s->text; *at; at++) fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fprintf(out, "\", params_%s, gives_%s, %u, %u};\n", o->c, o->c, s->nparams, s->nreturns);
}

static bool infers(const op *o) { return o->form == FORM_KERNEL || o->form == FORM_FUSED; }
static bool gives(const op *o) { return o->form != FORM_KERNEL; }

static void row(FILE *out, const op *o) {
    fprintf(
        out,
        "    [SH_OP_%s] = {.name = \"%s\", .id = SH_OP_%s, .family = SH_OP_%s, .tags = %s, .schema = &schema_%s",
        o->c, o->schema->name, o->c, o->family, o->tags, o->c);
    if (infers(o)) fprintf(out, ", .infer = infer_%s, .thunk_out = out_thunk_%s", o->c, o->c);
    if (gives(o)) fprintf(out, ", .thunk_returns = returns_thunk_%s", o->c);
    fprintf(out, "},\n");
}

static void builtin(FILE *out, const op *o, const char *kind, const char *column, bool returns) {
    fprintf(out, "    {SH_OP_%s, %s, (sh_function)sh_%s_%s, %s},\n", o->c, column, kind, o->c,
            returns ? "SH_FORM_RETURNS" : "SH_FORM_OUT");
}

static void builtins(FILE *out, const op *o) {
    if (infers(o)) builtin(out, o, "cpu", "SH_BACKEND_CPU", false);
    if (o->form == FORM_KERNEL) builtin(out, o, "ref", "SH_BACKEND_REF", false);
    if (o->form == FORM_ANY) builtin(out, o, "any", "SH_COLUMN_COMPOSITE", true);
    if (o->form == FORM_COMPOSITE || o->form == FORM_FUSED)
        builtin(out, o, "composite", "SH_COLUMN_COMPOSITE", true);
}

void gen_table(FILE *out, const op *ops, uint32_t n) {
    fprintf(
        out,
        "/* table.c - generated from ops/ops.def. */\n#include \"ops/ops.h\"\n\n#include \"dispatch/number.h\"\n#include \"ops/fast.h\"\n"
        "#include \"ops/infer.h\"\n#include \"ops/kernels.h\"\n\n_Static_assert(sizeof(sh_value) == 16, \"tables are laid out for it\");\n\n");
    for (uint32_t i = 0; i < n; i++) {
        const op *o = &ops[i];
        schema(out, o);
        if (o->options) defaults(out, o);
        if (infers(o)) {
            thunk(out, o, false);
            infer(out, o);
        }
        if (gives(o)) thunk(out, o, true);
    }
    fprintf(out, "\nsh_op sh__ops[SH_OP_BUILTIN_COUNT] = {\n");
    for (uint32_t i = 0; i < n; i++) row(out, &ops[i]);
    fprintf(out, "};\n\nconst sh_builtin_kernel sh__builtin_kernels[] = {\n");
    for (uint32_t i = 0; i < n; i++) builtins(out, &ops[i]);
    fprintf(
        out,
        "};\nconst size_t sh__builtin_kernel_count = sizeof sh__builtin_kernels / sizeof *sh__builtin_kernels;\n\n");
    for (uint32_t i = 0; i < n; i++) {
        function(out, &ops[i], false);
        if (ops[i].inplace) function(out, &ops[i], true);
    }
}
