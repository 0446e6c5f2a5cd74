/* capture.c - the capture mode by name: what ran, written as a graph when the mode dies.
 *
 * The recording is graph/record.c's. Here nobody names inputs or outputs: what comes from outside is an
 * attribute, and what nothing used is returned. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/memory_impl.h"
#include "graph/picture/dot.h"
#include "graph/record.h"
#include "modes/options.h"

const sh_option sh__capture_options[] = {
    {"out", SH_OPTION_STRING, NULL, NULL, "file to write, %p is the pid; default stderr"},
    {"format", SH_OPTION_CHOICE, "text", "text|tabular|dot|svg", "of the graph; svg needs Graphviz"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch records what composites are made of"},
    {"asked", SH_OPTION_FLAG, "0", NULL, "record what was asked for, not what ran under the other modes"},
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

typedef struct report {
    FILE *out;
    char format;
} report;

static char *print(const sh_graph *graph, char format) {
    if (format == 'd') return sh_graph_dot(graph, NULL);
    if (format == 's') return sh_graph_svg(graph, NULL);
    return format == 't' ? sh_graph_text(graph) : sh_graph_tabular(graph);
}

static void report_free(report *r) {
    sh_report_close(r->out);
    sh__free(r);
}

/* The mode's last reference ended; nobody is there to take an error. */
static void write_graph(sh_capture *capture, void *user) {
    report *r = user;
    sh_graph *graph = sh_capture_graph(capture, (sh_tensors){NULL, 0});
    char *text = graph ? print(graph, r->format) : NULL;
    if (text)
        fprintf(r->out, "%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
    else if (sh_error())
        sh_warn("capture: the graph can't be written: %s", sh_error()->message);
    sh_clear_error();
    free(text);
    sh_graph_free(graph);
    report_free(r);
}

sh_status sh__capture_make(const sh_options *o, sh_mode **mode) {
    report *r = sh__calloc(1, sizeof *r);
    if (!r) return SH_ERROR_MEMORY;
    const char *format = sh_option_text(o, "format");
    r->format = strcmp(format, "tabular") == 0 ? 'T' : *format;
    const sh_status status = sh_report_open(sh_option_text(o, "out"), &r->out);
    const sh_capture_options options = {
        .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0 ? SH_LEVEL_DISPATCH : SH_LEVEL_FUNCTION,
        .asked = sh_option_flag(o, "asked"),
        .shared = true,
        .finish = write_graph,
        .user = r,
    };
    sh_capture *capture = status < 0 ? NULL : sh_capture_new(&options);
    if (!capture) {
        report_free(r);
        return sh_error()->code;
    }
    *mode = sh_mode_keep(sh_capture_mode(capture));
    sh_capture_free(capture);
    return SH_OK;
}
