/* literal.h - numbers, strings and dtypes as C writes them, so that a compiler reads the same bits back. */
#ifndef SH_GRAPH_CODE_LITERAL_H
#define SH_GRAPH_CODE_LITERAL_H

#include "graph/arg.h"
#include "graph/text.h"

void sh__code_int(sh_text *out, int64_t i);
void sh__code_float(sh_text *out, double f);
void sh__code_string(sh_text *out, const char *string);
void sh__code_dtype(sh_text *out, sh_dtype dtype);
/* A path, a name: in a comment, which it can't end. */
void sh__code_comment(sh_text *out, const char *text);

#endif
