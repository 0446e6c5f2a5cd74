#include "cli/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"

json_t *cli_json_number(double number) {
    if (isnan(number)) return json_string("nan");
    if (isinf(number)) return json_string(number > 0 ? "inf" : "-inf");
    return json_real(number);
}

json_t *cli_json_findings(void) {
    json_t *all = json_array();
    const sh_finding *f;
    for (size_t i = 0; (f = sh_finding_at(i)); i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}",
                                             "mode", f->mode, "what", f->what, "index", f->index, "scope",
                                             f->scope, "called", f->site, "call", f->call, "inputs",
                                             f->inputs, "why", f->why, "next", f->next, "bad",
                                             (json_int_t)f->bad, "total", (json_int_t)f->total));
    return all;
}

int cli_json_write(const char *command, const char *path, json_t *report) {
    const bool to_stdout = strcmp(path, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(path, "we");
    int failed = !out || !report || json_dumpf(report, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0 ||
                 fputc('\n', out) == EOF;
    if (out && !to_stdout && fclose(out) != 0) failed = 1;
    json_decref(report);
    if (!failed) return EXIT_CLEAN;
    fprintf(stderr, "shunt %s: can't write %s: %s\n", command, path,
            errno ? strerror(errno) : "out of memory");
    return EXIT_INTERNAL;
}
