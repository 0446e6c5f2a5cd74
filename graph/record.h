/* record.h - ops that run become a graph.
 *
 *     sh_capture *capture = sh_capture_new(NULL);
 *     sh_capture_input(capture, x, "x");
 *     SH_WITH_MODE(sh_capture_mode(capture)) { y = sh_relu(sh_linear(x, w, .bias = b)); }
 *     sh_graph *graph = sh_capture_graph(capture, SH_LIST(y));
 *
 * It records what really ran, by rule M10: at function level below all function-level modes, composites
 * whole; at dispatch level below everything. While a mode that is not declared `watching` is pushed at
 * dispatch level, what really ran can only be seen there: the capture goes there by itself and says so once.
 *
 * Tensors from outside that are not declared as inputs become attributes of the graph, `_tensor_constant0`
 * and so on; numbers stand in the arguments. A captured tensor is kept until the graph is taken or the
 * capture freed, so memory grows with what is captured. */
#ifndef SH_GRAPH_RECORD_H
#define SH_GRAPH_RECORD_H

#include "graph/graph.h"

SH_BEGIN_DECLS

typedef struct sh_capture sh_capture;

typedef struct sh_capture_options {
    sh_level level; /* SH_LEVEL_FUNCTION: composites whole, the default */
    bool asked;     /* record what was asked for, above all modes, instead of what ran */
    bool shared;    /* it may enter other threads in a captured context */
    void (*finish)(sh_capture *capture, void *user); /* runs when the mode's last reference ends; optional */
    void *user;
} sh_capture_options;

/* The caller ends it by sh_capture_free; options may be NULL. */
SH_API sh_capture *sh_capture_new(const sh_capture_options *options);
SH_API void sh_capture_free(sh_capture *capture);
/* The mode to push and pop, borrowed. At function level it brings a second one, for the dispatch level. */
SH_API sh_mode *sh_capture_mode(sh_capture *capture);
/* This tensor is an input: a placeholder of that name. */
SH_API sh_status sh_capture_input(sh_capture *capture, sh_tensor *tensor, const char *name);
/* What was recorded, returning `outputs` (one, or a tuple); with none, every result that no later call used. The graph is
 * the caller's (sh_graph_free); the capture starts anew. */
SH_API sh_graph *sh_capture_graph(sh_capture *capture, sh_tensors outputs);

SH_END_DECLS

#endif
