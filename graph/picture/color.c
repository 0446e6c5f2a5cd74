/* color.c - what items are filled with, and the legend.
 *
 * All fills are light, so that black text stands on them, and each says what the label says too: the picture can be
 * read in grey. The colours of dtypes are tints of Okabe and Ito's set (jfly.uni-koeln.de/color), which most colour-blind
 * people tell apart; those of time get darker as they go, in the yellow and brown of ColorBrewer's YlOrBr. */
#include "graph/picture/picture.h"

static const struct {
    double share; /* percent of a run, at most */
    const char *color, *text;
} heats[] = {
    {1, "#ffffff", "up to 1 %"}, {3, "#fff7bc", "3 %"},   {6, "#fee391", "6 %"},
    {12, "#fec44f", "12 %"},     {25, "#fe9929", "25 %"}, {1e9, "#e1730f", "more"},
};
enum { NHEATS = sizeof heats / sizeof *heats };

static const char *const dtype_colors[SH_DTYPE_COUNT] = {
    [SH_NO_DTYPE] = "#ffffff", [SH_F32] = "#cfe6f7", [SH_F64] = "#8fbfe0", [SH_F16] = "#f9e6b8",
    [SH_BF16] = "#eec16e",     [SH_I64] = "#bfe3d5", [SH_I32] = "#8fcdb5", [SH_I16] = "#dcefe7",
    [SH_I8] = "#f0b58f",       [SH_U8] = "#f7d8c4",  [SH_B8] = "#dcbcd0",  [SH_C64] = "#e3d3ee",
    [SH_C128] = "#c9aedd",
};

static const char *const opcode_colors[] = {
    [SH_PLACEHOLDER] = "#cfe6f7", [SH_GET_ATTR] = "#e6e6e6", [SH_CALL_FUNCTION] = "#f6f8f4",
    [SH_CALL_MODULE] = "#fbf1cf", [SH_OUTPUT] = "#cfe6f7",
};

double sh__item_share(const sh_picture *p, const sh_figure *item) {
    const double run = sh_timing_run_ns(p->options->timing);
    double ns = 0;
    for (uint32_t i = item->begin; i < item->end; i++)
        ns += sh_timing_node_ns(p->options->timing, p->order[i]);
    return run > 0 ? 100 * ns / run : 0;
}

/* Of the last node: what the item gives. */
static sh_dtype dtype_of(const sh_picture *p, const sh_figure *item) {
    const sh_node *last = p->order[item->end - 1];
    if (last->opcode == SH_OUTPUT && last->ninputs == 1) last = last->uses[0].input;
    return last->has_spec && last->spec.dtype < SH_DTYPE_COUNT ? last->spec.dtype : SH_NO_DTYPE;
}

const char *sh__item_color(const sh_picture *p, const sh_figure *item) {
    int heat = 0;
    switch (p->options->color) {
    case SH_COLOR_DTYPE: return dtype_colors[dtype_of(p, item)];
    case SH_COLOR_TIME:
        while (heat + 1 < NHEATS && sh__item_share(p, item) > heats[heat].share) heat++;
        return heats[heat].color;
    default: return sh__is_run(item) ? "#e3efdd" : opcode_colors[p->order[item->begin]->opcode];
    }
}

/* ---- the legend ---- */

static void put_entry(sh_picture *p, const char *color, const char *text) {
    sh__text_put(&p->out, "<tr><td bgcolor=\"%s\" width=\"22\"></td><td align=\"left\">%s</td></tr>", color,
                 text);
}

static void put_dtypes(sh_picture *p) {
    bool met[SH_DTYPE_COUNT] = {false};
    for (uint32_t i = 0; i < p->nitems; i++) met[dtype_of(p, &p->items[i])] = true;
    for (sh_dtype d = SH_NO_DTYPE; d < SH_DTYPE_COUNT; d++)
        if (met[d]) put_entry(p, dtype_colors[d], d ? sh_dtype_name(d) : "not known");
}

void sh__put_legend(sh_picture *p) {
    if (p->options->color == SH_COLOR_OPCODE) return;
    const bool time = p->options->color == SH_COLOR_TIME;
    sh__text_put(
        &p->out,
        "    legend [shape=plain, style=\"\", label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" "
        "cellpadding=\"3\"><tr><td colspan=\"2\"><b>%s</b></td></tr>",
        time ? "share of a run" : "dtype of the result");
    for (int i = 0; time && i < NHEATS; i++) put_entry(p, heats[i].color, heats[i].text);
    if (!time) put_dtypes(p);
    sh__text_put(&p->out, "</table>>];\n");
}
