/* ops.c - shunt ops: the dispatch table for people, or as JSON. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "dispatch/filter.h"

typedef struct request {
    const char *filter;
    bool json;
} request;

static int take_json(void *context, const char *value) {
    (void)value;
    ((request *)context)->json = true;
    return EXIT_CLEAN;
}
static int take_word(void *context, const char *word) {
    request *q = context;
    if (q->filter) return cli_usage("ops", "one filter only; a|b is or");
    q->filter = word;
    return EXIT_CLEAN;
}
static const cli_option options[] = {{"--json", false, take_json}, {NULL, false, NULL}};

static const struct {
    uint32_t tag;
    const char *name;
} tags[] = {{SH_OP_PURE, "pure"},           {SH_OP_INPLACE, "in-place"},    {SH_OP_OUT, "out"},
            {SH_OP_VIEW, "view"},           {SH_OP_RANDOM, "random"},       {SH_OP_COMPOSITE, "composite"},
            {SH_OP_POINTWISE, "pointwise"}, {SH_OP_REDUCTION, "reduction"}, {SH_OP_FACTORY, "factory"},
            {SH_OP_CUSTOM, "custom"}};
enum { TAGS = sizeof tags / sizeof *tags };

static void print_op(const sh_op *op) {
    char *kernels = sh_op_describe(op);
    printf("%s\n    tags:", sh_op_schema(op)->text);
    for (size_t i = 0; i < TAGS; i++)
        if (sh_op_tags(op) & tags[i].tag) printf(" %s", tags[i].name);
    printf("\n    kernels: %s\n", kernels ? kernels : "?");
    free(kernels);
}

static json_t *json_op(const sh_op *op) {
    char *kernels = sh_op_describe(op);
    json_t *list = json_array();
    for (size_t i = 0; i < TAGS; i++)
        if (sh_op_tags(op) & tags[i].tag) json_array_append_new(list, json_string(tags[i].name));
    json_t *value = json_pack("{s:s, s:s, s:o, s:s}", "name", sh_op_name(op), "schema",
                              sh_op_schema(op)->text, "tags", list, "kernels", kernels ? kernels : "");
    free(kernels);
    return value;
}

int cli_ops(int argc, char **argv) {
    request q = {0};
    const int code = cli_parse(argc, argv, "ops", options, take_word, &q);
    if (code != EXIT_CLEAN) return code;
    sh_filter *filter = sh_filter_new(q.filter, SH_FILTER_GLOB);
    if (!filter) return cli_failed("ops", CLI_ASKED);
    json_t *all = json_array();
    size_t n = 0;
    for (uint32_t id = 0; id < sh_op_count(); id++) {
        const sh_op *op = sh_op_by_id(id);
        if (!sh_op_schema(op) || !sh_filter_match(filter, sh_op_name(op))) continue;
        n++;
        if (q.json)
            json_array_append_new(all, json_op(op));
        else
            print_op(op);
    }
    sh_filter_free(filter);
    if (q.json) return cli_json_write("ops", "-", all);
    json_decref(all);
    if (n) return EXIT_CLEAN;
    const char *near = q.filter ? sh_op_suggest(q.filter) : NULL;
    return cli_usage("ops", "no op matches %s%s%s", q.filter, near ? "; did you mean " : "",
                     near ? near : "");
}
