/* custom.c - nodes of other domains: the ops that were defined at run time.
 *
 * A node of domain `mylib` and op_type `FusedGate` is the op mylib::FusedGate, or else mylib::fused_gate. Its inputs are the
 * op's tensor arguments in order (the last, where it is a list, takes all that are left), its attributes the others by name. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "graph/onnx/reader.h"

enum { NAME = 200 };

/* ---- the op ---- */

/* fused_gate of FusedGate, conv2_d of Conv2D; runs of capitals stay together: gelu of GELU, my_rnn of MyRNN. */
static void snake_case(const char *name, char *text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; name[i] && n + 2 < size; i++) {
        const unsigned char c = (unsigned char)name[i], before = i ? (unsigned char)name[i - 1] : '_';
        const bool begins =
            isupper(c) && before != '_' && (!isupper(before) || islower((unsigned char)name[i + 1]));
        if (begins && i) text[n++] = '_';
        text[n++] = (char)tolower(c);
    }
    text[n] = 0;
}

static const sh_op *find(const char *domain, const char *type, char *name) {
    snprintf(name, NAME, "%.80s::%.80s", domain, type);
    const sh_op *op = sh_op_find(name);
    return op && sh_op_schema(op) ? op : NULL;
}

/* "mylib::gate, mylib::norm", those that are defined of the domain; empty where there are none. */
static void list_domain(const char *domain, char *text, size_t size) {
    const size_t length = strlen(domain);
    size_t n = 0;
    text[0] = 0;
    for (uint32_t id = 0; id < sh_op_count() && n + 100 < size; id++) {
        const sh_op *op = sh_op_by_id(id);
        const char *name = sh_op_name(op);
        if (!sh_op_schema(op) || strncmp(name, domain, length) != 0 || strncmp(name + length, "::", 2) != 0)
            continue;
        n += (size_t)snprintf(text + n, size - n, n ? ", %.90s" : "%.90s", name);
    }
}

const sh_op *sh__onnx_custom_op(const sh_onnx_reader *r) {
    const char *domain = r->node->domain, *type = sh__onnx_text(r->node->op_type);
    char name[NAME], snake[100], known[300];
    snake_case(type, snake, sizeof snake);
    const sh_op *op = find(domain, type, name);
    if (!op) op = find(domain, snake, name);
    if (op) return op;
    list_domain(domain, known, sizeof known);
    sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                  "there is no op %.80s::%.80s or %s; of domain %.80s are defined: %s", domain, type, name,
                  domain, *known ? known : "none (sh_op_define them, or load the plug-in that does)");
    return NULL;
}

/* ---- inputs ---- */

static bool is_tensor(const sh_param *param) {
    return param->type == SH_TYPE_TENSOR || param->type == SH_TYPE_TENSORS;
}

/* The arguments of the node that is made: tensors by position as far as nothing is left out before them. */
typedef struct arguments {
    sh_arg args[SH_MAX_ARGS];
    sh_kwarg at[SH_MAX_ARGS];
    size_t nargs, n, input;
    sh_arg *room; /* for lists */
    size_t used;
    char *texts[SH_MAX_ARGS];
    size_t ntexts;
} arguments;

static sh_status take_list(sh_onnx_reader *r, const sh_param *param, arguments *a, sh_arg *value) {
    sh_arg *list = a->room + a->used;
    size_t n = 0;
    for (; a->input < r->node->n_input; a->input++) {
        sh_node *node = sh__onnx_has_input(r, a->input) ? sh__onnx_input(r, a->input) : NULL;
        if (sh_error()) return sh_error()->code;
        if (!node && !param->holes)
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "input %zu, of the list %s, is missing", a->input,
                                 param->name);
        list[n++] = node ? sh_arg_node(node) : sh_arg_none();
    }
    a->used += n;
    *value = sh_arg_list((sh_args){list, n});
    return SH_OK;
}

/* None where an optional one is not given. */
static sh_status take_input(sh_onnx_reader *r, const sh_schema *schema, const sh_param *param, arguments *a,
                            sh_arg *value) {
    *value = sh_arg_none();
    if (param->type == SH_TYPE_TENSORS) return take_list(r, param, a, value);
    const size_t i = a->input++;
    if (!sh__onnx_has_input(r, i)) {
        if (param->optional) return SH_OK;
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "input %zu, argument %s, is missing: %s", i, param->name,
                             schema->text);
    }
    sh_node *node = sh__onnx_input(r, i);
    *value = sh_arg_node(node);
    return node ? SH_OK : sh_error()->code;
}

static sh_status take_inputs(sh_onnx_reader *r, const sh_schema *schema, arguments *a) {
    for (uint32_t i = 0; i < schema->nparams; i++) {
        const sh_param *param = &schema->params[i];
        sh_arg value;
        if (!is_tensor(param)) continue;
        SH_TRY(take_input(r, schema, param, a, &value));
        if (value.tag == SH_ARG_NONE) continue;
        if (a->nargs == i && !param->keyword_only)
            a->args[a->nargs++] = value;
        else
            a->at[a->n++] = (sh_kwarg){param->name, value};
    }
    if (a->input >= r->node->n_input) return SH_OK;
    return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has %zu inputs, the op takes %zu: %s", r->node->n_input,
                         a->input, schema->text);
}

/* ---- attributes ---- */

static sh_status wrong_kind(const sh_onnx_reader *r, const sh_param *param,
                            const Onnx__AttributeProto *attribute) {
    char type[32];
    const ProtobufCEnumValue *kind = protobuf_c_enum_descriptor_get_value(
        &onnx__attribute_proto__attribute_type__descriptor, (int)attribute->type);
    sh_type_print(param, type, sizeof type);
    return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %.80s is of kind %s, argument %s is %s", param->name,
                         kind ? kind->name : "unknown", param->name, type);
}

static sh_status take_ints(const sh_onnx_reader *r, const sh_param *param, const Onnx__AttributeProto *given,
                           arguments *a, sh_arg *value) {
    if (param->length && given->n_ints != param->length)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %s has %zu integers, expected %d", param->name,
                             given->n_ints, param->length);
    sh_arg *list = a->room + a->used;
    for (size_t i = 0; i < given->n_ints; i++) list[i] = sh_arg_int(given->ints[i]);
    a->used += given->n_ints;
    *value = sh_arg_list((sh_args){list, given->n_ints});
    return SH_OK;
}

static sh_status take_int(const sh_onnx_reader *r, const sh_param *param, const Onnx__AttributeProto *given,
                          sh_arg *value) {
    *value = sh_arg_int(given->i);
    if (param->type == SH_TYPE_FLAG) *value = sh_arg_flag(given->i != 0);
    if (param->type != SH_TYPE_DTYPE) return SH_OK;
    const sh_dtype dtype = sh__onnx_dtype((int)given->i);
    if (!dtype)
        return sh__onnx_fail(r, SH_ERROR_UNSUPPORTED,
                             "attribute %s is the element type %lld, which is not supported", param->name,
                             (long long)given->i);
    *value = sh_arg_dtype(dtype);
    return SH_OK;
}

/* The text is copied again when the node is made. */
static sh_status take_string(sh_onnx_reader *r, const sh_param *param, const Onnx__AttributeProto *given,
                             arguments *a, sh_arg *value) {
    if (memchr(given->s.data, 0, given->s.len))
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %s has a zero byte in its text", param->name);
    SH_TRY(sh__budget_take(r->budget, 2 * given->s.len + 2));
    char *text = sh__calloc(1, given->s.len + 1);
    if (!text) return SH_ERROR_MEMORY;
    memcpy(text, given->s.data, given->s.len);
    a->texts[a->ntexts++] = text;
    *value = sh_arg_string(text);
    return SH_OK;
}

static sh_status take_attribute(sh_onnx_reader *r, const sh_param *param, const Onnx__AttributeProto *given,
                                arguments *a, sh_arg *value) {
    const uint32_t integers =
        1u << SH_TYPE_INT | 1u << SH_TYPE_FLAG | 1u << SH_TYPE_DTYPE | 1u << SH_TYPE_SCALAR;
    switch (given->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        if (integers >> param->type & 1) return take_int(r, param, given, value);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        *value = sh_arg_float((double)given->f);
        if (param->type == SH_TYPE_FLOAT || param->type == SH_TYPE_SCALAR) return SH_OK;
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        if (param->type == SH_TYPE_INTS) return take_ints(r, param, given, a, value);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        if (param->type == SH_TYPE_STRING) return take_string(r, param, given, a, value);
        break;
    default: break;
    }
    return wrong_kind(r, param, given);
}

static sh_status take_attributes(sh_onnx_reader *r, const sh_schema *schema, arguments *a) {
    uint32_t taken = 0;
    for (size_t k = 0; k < r->node->n_attribute; k++) {
        const Onnx__AttributeProto *given = r->node->attribute[k];
        const char *name = sh__onnx_text(given->name);
        const int i = sh_schema_find(schema, name);
        if (i < 0 || is_tensor(&schema->params[i]))
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "the op takes no attribute %.80s: %s", name,
                                 schema->text);
        if (taken >> i & 1)
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "its attribute %.80s is given twice", name);
        taken |= 1u << i;
        a->at[a->n].name = schema->params[i].name;
        SH_TRY(take_attribute(r, &schema->params[i], given, a, &a->at[a->n].value));
        a->n++;
    }
    for (uint32_t i = 0; i < schema->nparams; i++)
        if (!is_tensor(&schema->params[i]) && !schema->params[i].has_default && !(taken >> i & 1))
            return sh__onnx_fail(r, SH_ERROR_FORMAT, "attribute %s is missing: %s", schema->params[i].name,
                                 schema->text);
    return SH_OK;
}

/* ---- the node ---- */

static size_t room_needed(const sh_onnx_reader *r) {
    size_t n = r->node->n_input + 1;
    for (size_t k = 0; k < r->node->n_attribute; k++) n += r->node->attribute[k]->n_ints;
    return n;
}

/* Several results, and the entries of a list, are parts of the node. */
static sh_status define_outputs(sh_onnx_reader *r, const sh_schema *schema, sh_node *node) {
    const bool parts =
        schema->nreturns > 1 || (schema->nreturns == 1 && schema->returns[0].type == SH_TYPE_TENSORS);
    if (!parts) return sh__onnx_output(r, node);
    if (schema->nreturns > 1 && r->node->n_output > schema->nreturns)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has %zu outputs, the op gives %d: %s", r->node->n_output,
                             schema->nreturns, schema->text);
    for (size_t i = 0; i < r->node->n_output; i++) {
        if (!*r->node->output[i]) continue;
        SH_TRY(sh__budget_take(r->budget, NODE_BYTES + 2 * strlen(r->node->output[i]) + 256));
        sh_node *item = sh_graph_call_function(r->graph, SH_GETITEM, node, (int64_t)i);
        if (!item) return sh_error()->code;
        SH_TRY(sh__onnx_define(r, r->node->output[i], item, NULL));
    }
    return SH_OK;
}

static sh_status make_node(sh_onnx_reader *r, const sh_op *op, const sh_schema *schema, arguments *a) {
    SH_TRY(take_inputs(r, schema, a));
    SH_TRY(take_attributes(r, schema, a));
    if (r->node->n_output > 1 && schema->nreturns == 1 && schema->returns[0].type == SH_TYPE_TENSOR)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has %zu outputs, the op gives 1: %s", r->node->n_output,
                             schema->text);
    if (!schema->nreturns)
        return sh__onnx_fail(r, SH_ERROR_FORMAT, "it has an output, the op gives none: %s", schema->text);
    sh_node *node =
        sh__onnx_call(r, "", sh_op_name(op), (sh_args){a->args, a->nargs}, (sh_kwargs){a->at, a->n});
    return node ? define_outputs(r, schema, node) : sh_error()->code;
}

sh_status sh__onnx_custom(sh_onnx_reader *r, const sh_op *op) {
    arguments a;
    a.nargs = a.n = a.input = a.used = a.ntexts = 0;
    const sh_schema *schema = sh_op_schema(op);
    if (!schema) return sh__onnx_fail(r, SH_ERROR_OP, "op %s was undefined meanwhile", sh_op_name(op));
    const size_t room = room_needed(r) * sizeof *a.room;
    SH_TRY(sh__budget_take(r->budget, room));
    a.room = sh__alloc(room);
    if (!a.room) return SH_ERROR_MEMORY;
    const sh_status status = make_node(r, op, schema, &a);
    for (size_t i = 0; i < a.ntexts; i++) sh__free(a.texts[i]);
    sh__free(a.room);
    return status;
}
