/* header.c - writes ops.h (what users call), kernels.h (what kernels must look like), reference.md. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/gen/gen.h"

static const char *param_type(const sh_param *p) {
    static const char *const types[SH_TYPE_COUNT] = {
        [SH_TYPE_TENSOR] = "sh_tensor *", [SH_TYPE_TENSORS] = "sh_tensors ", [SH_TYPE_SCALAR] = "sh_scalar ",
        [SH_TYPE_INT] = "int64_t ",       [SH_TYPE_INTS] = "sh_ints ",       [SH_TYPE_FLOAT] = "double ",
        [SH_TYPE_FLAG] = "bool ",         [SH_TYPE_STRING] = "const char *", [SH_TYPE_DTYPE] = "sh_dtype ",
    };
    return p->type == SH_TYPE_FLAG && p->optional ? "int " : types[p->type];
}

void gen_kernel_params(FILE *out, const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++)
        fprintf(out, "%s%s%s", i ? ", " : "", param_type(&o->schema->params[i]), o->schema->params[i].name);
}

void gen_function_params(FILE *out, const op *o) {
    const char *separator = "";
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (!gen_is_required(p)) continue;
        fprintf(out, "%s%s%s", separator, param_type(p), p->name);
        separator = ", ";
    }
    if (o->options)
        fprintf(out, "%sconst sh_%s_options *options", separator, o->c);
    else if (!*separator)
        fprintf(out, "void");
}

void gen_return_type(FILE *out, const op *o) {
    if (o->schema->nreturns > 1)
        fprintf(out, "sh_%s_result ", o->c);
    else
        fprintf(out, o->schema->returns[0].type == SH_TYPE_TENSORS ? "sh_list *" : "sh_tensor *");
}

/* ---- options ---- */

static void option_field(FILE *out, const sh_param *p) {
    if (gen_is_axes(p))
        fprintf(out, "    int64_t %s; /* an axis or SH_DIMS(...) */\n", p->name);
    else if (p->type == SH_TYPE_INTS && p->length)
        fprintf(out, "    int64_t %s[%d];\n", p->name, p->length);
    else if (p->type == SH_TYPE_SCALAR)
        fprintf(out, "    double %s;\n", p->name);
    else if (p->type == SH_TYPE_FLAG && p->optional)
        fprintf(out, "    int8_t %s;\n", p->name);
    else
        fprintf(out, "    %s%s;\n", param_type(p), p->name);
}

static void number_default(FILE *out, const sh_param *p) {
    if (p->value.tag == SH_TAG_NONE)
        fprintf(out, "SH_NO_NUMBER");
    else if (p->value.tag == SH_TAG_FLOAT && isinf(p->value.as.f))
        fprintf(out, p->value.as.f > 0 ? "__builtin_inf()" : "-__builtin_inf()");
    else
        fprintf(out, "%.17g", sh_value_as_double(p->value));
}

static void ints_default(FILE *out, const sh_param *p) {
    const sh_ints list = sh_value_as_ints(p->value);
    const int64_t one = p->value.tag == SH_TAG_INT ? p->value.as.i : list.n ? list.at[0] : 0;
    fprintf(out, "{%" PRId64, one);
    for (int i = 1; i < p->length; i++)
        fprintf(out, list.n || p->value.tag == SH_TAG_INT ? ", SH_SAME" : ", 0");
    fprintf(out, "}");
}

static void option_default(FILE *out, const sh_param *p) {
    fprintf(out, ".%s = ", p->name);
    const bool none = p->value.tag == SH_TAG_NONE;
    if (gen_is_axes(p))
        fprintf(out, "SH_NO_INT");
    else if (p->type == SH_TYPE_INTS && p->length)
        ints_default(out, p);
    else if (p->type == SH_TYPE_INTS)
        fprintf(out, "{NULL, 0}");
    else if (p->type == SH_TYPE_SCALAR || p->type == SH_TYPE_FLOAT)
        number_default(out, p);
    else if (p->type == SH_TYPE_INT)
        none ? fprintf(out, "SH_NO_INT") : fprintf(out, "%" PRId64, p->value.as.i);
    else if (p->type == SH_TYPE_FLAG)
        fprintf(out, none ? "SH_NO_FLAG" : p->value.as.i ? "1" : "0");
    else if (p->type == SH_TYPE_STRING)
        none ? fprintf(out, "NULL") : fprintf(out, "\"%s\"", p->value.as.string);
    else if (p->type == SH_TYPE_DTYPE)
        fprintf(out, "(sh_dtype)%d", none ? 0 : (int)p->value.as.i);
    else
        fprintf(out, "NULL");
}

static void upper(FILE *out, const char *name) {
    for (; *name; name++) fputc(toupper((unsigned char)*name), out);
}

static void options_struct(FILE *out, const op *o) {
    fprintf(out, "typedef struct sh_%s_options {\n    char sh_;\n", o->c);
    for (uint32_t i = 0; i < o->schema->nparams; i++)
        if (!gen_is_required(&o->schema->params[i])) option_field(out, &o->schema->params[i]);
    if (o->out) fprintf(out, "    sh_tensor *out; /* NULL: a new result */\n");
    fprintf(out, "} sh_%s_options;\n#define SH_", o->c);
    upper(out, o->c);
    fprintf(out, "_DEFAULTS .sh_ = 0");
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        if (gen_is_required(&o->schema->params[i])) continue;
        fprintf(out, ", ");
        option_default(out, &o->schema->params[i]);
    }
    fprintf(out, "\n");
}

/* ---- functions and macros ---- */

/* "sh_tensor *sh_add_("; what works in place gives the tensor it was given. */
static void function_start(FILE *out, const op *o, const char *suffix) {
    if (*suffix)
        fprintf(out, "sh_tensor *");
    else
        gen_return_type(out, o);
    fprintf(out, "sh_%s%s(", o->c, suffix);
}

static void declaration(FILE *out, const op *o, const char *suffix) {
    fprintf(out, "SH_API ");
    function_start(out, o, suffix);
    gen_function_params(out, o);
    fprintf(out, ");\n");
}

static void result_struct(FILE *out, const op *o) {
    fprintf(out, "typedef struct sh_%s_result {\n    sh_tensor ", o->c);
    for (uint32_t i = 0; i < o->schema->nreturns; i++) {
        const char *name = o->schema->returns[i].name;
        fprintf(out, i ? ", *" : "*");
        if (*name)
            fprintf(out, "%s", name);
        else
            fprintf(out, "result%u", i);
    }
    fprintf(out, ";\n} sh_%s_result;\n", o->c);
}

static void macro_argument(FILE *out, const sh_param *p) {
    if (p->type == SH_TYPE_TENSOR)
        fprintf(out, "SH__TENSOR(%s)", p->name);
    else if (p->type == SH_TYPE_SCALAR)
        fprintf(out, "SH__SCALAR(%s)", p->name);
    else
        fprintf(out, "%s", p->name);
}

static void macro_names(FILE *out, const op *o, const char *separator, bool wrapped) {
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (!gen_is_required(p)) continue;
        fprintf(out, "%s", separator);
        if (wrapped)
            macro_argument(out, p);
        else
            fprintf(out, "%s", p->name);
        separator = ", ";
    }
}

static bool any_required(const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++)
        if (gen_is_required(&o->schema->params[i])) return true;
    return false;
}

static void macro_with_options(FILE *out, const op *o, const char *suffix) {
    fprintf(out, "#define sh_%s%s(...) SH__%s%s(SH__UNIQUE(sh__o), __VA_ARGS__, .sh_ = 0)\n", o->c, suffix,
            o->c, suffix);
    fprintf(out, "#define SH__%s%s(v", o->c, suffix);
    macro_names(out, o, ", ", false);
    fprintf(out, ", ...) __extension__({ SH__QUIET const sh_%s_options v = {SH_", o->c);
    upper(out, o->c);
    fprintf(out, "_DEFAULTS, .sh_ = 0, __VA_ARGS__}; SH__LOUD (sh_%s%s)(", o->c, suffix);
    macro_names(out, o, "", true);
    fprintf(out, "%s&v); })\n", any_required(o) ? ", " : "");
}

static void macro(FILE *out, const op *o, const char *suffix) {
    if (o->options) {
        macro_with_options(out, o, suffix);
        return;
    }
    fprintf(out, "#define sh_%s%s(", o->c, suffix);
    macro_names(out, o, "", false);
    fprintf(out, ") (sh_%s%s)(", o->c, suffix);
    macro_names(out, o, "", true);
    fprintf(out, ")\n");
}

/* ---- in C++ ---- */

static const char *cxx_type(const sh_param *p) {
    switch (p->type) {
    case SH_TYPE_TENSOR: return "::sh__cxx::operand ";
    case SH_TYPE_SCALAR: return "::sh__cxx::scalar ";
    case SH_TYPE_INTS: return "::sh__cxx::sizes ";
    default: return param_type(p);
    }
}

/* Without options the overload is needed only where a parameter takes more than in C. */
static bool needs_overload(const op *o) {
    for (uint32_t i = 0; i < o->schema->nparams; i++)
        if (strncmp(cxx_type(&o->schema->params[i]), "::", 2) == 0) return true;
    return o->options;
}

static void cxx_overload(FILE *out, const op *o, const char *suffix) {
    const char *separator = "";
    fprintf(out, o->options ? "template <class... K, class = ::sh__cxx::keywords<K...>> " : "inline ");
    function_start(out, o, suffix);
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (!gen_is_required(p)) continue;
        fprintf(out, "%s%s%s", separator, cxx_type(p), p->name);
        separator = ", ";
    }
    if (o->options) {
        fprintf(out, "%sconst K &...k) { sh_%s_options o = {SH_", separator, o->c);
        upper(out, o->c);
        fprintf(out, "_DEFAULTS}; (k.into(o), ...); return sh_%s%s(", o->c, suffix);
    } else {
        fprintf(out, ") { return sh_%s%s(", o->c, suffix);
    }
    separator = "";
    for (uint32_t i = 0; i < o->schema->nparams; i++) {
        const sh_param *p = &o->schema->params[i];
        if (!gen_is_required(p)) continue;
        fprintf(out, "%sstatic_cast<%s>(%s)", separator, param_type(p), p->name);
        separator = ", ";
    }
    fprintf(out, "%s%s); }\n", o->options ? separator : "", o->options ? "&o" : "");
}

/* Its kernel's type, and the function that takes one: the wrong signature does not compile. */
static void typed_kernel(FILE *out, const op *o) {
    const bool fills = o->form == FORM_KERNEL || o->form == FORM_FUSED;
    fprintf(out, "typedef sh_status (*sh_kernel_%s)(", o->c);
    if (!fills) fprintf(out, "sh_value *results");
    for (uint32_t i = 0; fills && i < o->schema->nreturns; i++)
        fprintf(out, "%ssh_tensor *result%u", i ? ", " : "", i);
    if (o->schema->nparams) fprintf(out, ", ");
    gen_kernel_params(out, o);
    fprintf(out,
            ");\nstatic inline sh_typed_kernel sh_%s_kernel(sh_kernel_%s kernel) { sh_typed_kernel typed = "
            "{SH_OP_%s, (void (*)(void))kernel}; return typed; }\n",
            o->c, o->c, o->c);
}

static void write_op(FILE *out, const op *o) {
    fprintf(out, "/* %s\n * %s */\n", o->schema->text, o->doc);
    if (o->options) options_struct(out, o);
    if (o->schema->nreturns > 1) result_struct(out, o);
    declaration(out, o, "");
    if (o->inplace) declaration(out, o, "_");
    typed_kernel(out, o);
    fprintf(out, "#ifndef __cplusplus\n");
    macro(out, o, "");
    if (o->inplace) macro(out, o, "_");
    if (needs_overload(o)) {
        fprintf(out, "#else\nSH_BEGIN_CXX\n");
        cxx_overload(out, o, "");
        if (o->inplace) cxx_overload(out, o, "_");
        fprintf(out, "SH_END_CXX\n");
    }
    fprintf(out, "#endif\n\n");
}

/* Is it the name of an option that comes before option `p` of op `i`? `out` comes before all. */
static bool is_named_before(const op *ops, uint32_t i, uint32_t p, const char *name) {
    for (uint32_t k = 0; k <= i; k++)
        for (uint32_t q = 0; q < (k < i ? ops[k].schema->nparams : p); q++) {
            const sh_param *param = &ops[k].schema->params[q];
            if (!gen_is_required(param) && strcmp(param->name, name) == 0) return true;
        }
    return strcmp(name, "out") == 0;
}

/* Each name that any op has among its options, once. */
static void cxx_keywords(FILE *out, const op *ops, uint32_t n) {
    fprintf(out, "#ifdef __cplusplus\nSH__KEYWORD(out)\n");
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t p = 0; p < ops[i].schema->nparams; p++) {
            const sh_param *param = &ops[i].schema->params[p];
            if (!gen_is_required(param) && !is_named_before(ops, i, p, param->name))
                fprintf(out, "SH__KEYWORD(%s)\n", param->name);
        }
    fprintf(out, "#endif\n\n");
}

void gen_header(FILE *out, const op *ops, uint32_t n) {
    fprintf(
        out,
        "/* ops.h - every built-in op, generated from ops/ops.def. See ops/api.h for how to call one. */\n"
        "#ifndef SH_OPS_OPS_H\n#define SH_OPS_OPS_H\n\n#include \"ops/api.h\"\n\n");
    cxx_keywords(out, ops, n);
    fprintf(out, "SH_BEGIN_DECLS\n\nenum sh_op_ids {\n");
    for (uint32_t i = 0; i < n; i++) fprintf(out, "    SH_OP_%s = %u,\n", ops[i].c, i);
    fprintf(out, "    SH_OP_BUILTIN_COUNT = %u\n};\n\n", n);
    for (uint32_t i = 0; i < n; i++) write_op(out, &ops[i]);
    fprintf(out, "SH_END_DECLS\n\n#endif\n");
}

/* ---- kernels.h ---- */

static void kernel(FILE *out, const op *o, const char *kind, bool returns) {
    fprintf(out, "sh_status sh_%s_%s(", kind, o->c);
    if (returns) fprintf(out, "sh_value *results");
    for (uint32_t i = 0; !returns && i < o->schema->nreturns; i++)
        fprintf(out, "%ssh_tensor *result%u", i ? ", " : "", i);
    if (o->schema->nparams) fprintf(out, ", ");
    gen_kernel_params(out, o);
    fprintf(out, ");\n");
}

void gen_kernels(FILE *out, const op *ops, uint32_t n) {
    fprintf(out,
            "/* kernels.h - the C signature of every kernel, generated from ops/ops.def. */\n"
            "#ifndef SH_OPS_KERNELS_H\n#define SH_OPS_KERNELS_H\n\n#include \"dispatch/tensor_impl.h\"\n\n");
    for (uint32_t i = 0; i < n; i++) {
        const op *o = &ops[i];
        if (o->form == FORM_KERNEL || o->form == FORM_FUSED) kernel(out, o, "cpu", false);
        if (o->form == FORM_KERNEL) kernel(out, o, "ref", false);
        if (o->form == FORM_ANY) kernel(out, o, "any", true);
        if (o->form == FORM_COMPOSITE || o->form == FORM_FUSED) kernel(out, o, "composite", true);
    }
    fprintf(out, "\n#endif\n");
}

/* ---- reference.md ---- */

static const char *kernels_of(const op *o) {
    static const char *const texts[] = {"cpu, ref, meta", "one for all backends", "composite",
                                        "composite, cpu, meta"};
    return texts[o->form];
}

void gen_reference(FILE *out, const op *ops, uint32_t n) {
    fprintf(out, "# Ops\n\nGenerated from `ops/ops.def`. PyTorch's names, arguments and defaults.\n\n"
                 "| op | schema | what it does | forms | kernels |\n|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "| `%s` | `%s` | %s | `sh_%s`%s%s | %s |\n", ops[i].schema->name, ops[i].schema->text,
                ops[i].doc, ops[i].c, ops[i].inplace ? ", in place" : "", ops[i].out ? ", `out`" : "",
                kernels_of(&ops[i]));
}
