/* regions.c - what each convolution of a draft takes over.
 *
 * A convolution takes the step that reads its result if it is the only one, and so on; and a padding in front of it that is made
 * for it alone. They become one unit in the place of the last of them. What is read is read later by that, so no step that may
 * write to its arguments may stand in between. */
#include "graph/compile/blocked_impl.h"

static bool writes_arguments(const sh_plan_step *step) {
    return step->kind == SH_STEP_CALL || step->kind == SH_STEP_KEPT;
}

static bool may_move(const sh_blocker *b, uint32_t from, uint32_t to) {
    for (uint32_t i = from + 1; i < to; i++)
        if (writes_arguments(&b->draft.at[i])) return false;
    return true;
}

/* The only step that reads the value, if it is not part of something; SH_NO_STEP: none. */
static uint32_t only_reader(const sh_blocker *b, uint32_t value) {
    const uint32_t reader = b->reader[value];
    if (b->reads[value] != 1 || b->plan->values[value].output || reader == SH_NO_STEP) return SH_NO_STEP;
    return b->choice_of[reader] || b->product_of[reader] ? SH_NO_STEP : reader;
}

/* Are the constants among its arguments the same in every run? */
static bool is_settled(const sh_blocker *b, const sh_plan_step *step) {
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t buffer = b->plan->values[step->loads[i].id].buffer;
        if (buffer == SH_NO_BUFFER) return false;
        if (b->plan->buffers[buffer].home == SH_HOME_CONSTANT && b->last[buffer] == SH_NO_STEP) return false;
    }
    return true;
}

static void take_pad(sh_blocker *b, sh_conv_choice *c, uint32_t mark) {
    const uint32_t maker = b->maker[c->conv.input];
    if (maker == SH_NO_STEP || b->choice_of[maker] || b->reads[c->conv.input] != 1) return;
    if (b->plan->values[c->conv.input].output || !may_move(b, maker, c->last)) return;
    if (!sh__conv_take_pad(b->plan, &b->draft.at[maker], &c->conv)) return;
    c->first = maker;
    b->choice_of[maker] = mark;
}

static void take_readers(sh_blocker *b, sh_conv_choice *c, uint32_t mark) {
    for (;;) {
        const uint32_t value = c->conv.output, reader = only_reader(b, value);
        if (reader == SH_NO_STEP || !may_move(b, c->last, reader)) break;
        if (!is_settled(b, &b->draft.at[reader])) break;
        if (!sh__conv_take_step(b->plan, &b->draft.at[reader], value, &c->conv)) break;
        c->last = reader;
        b->choice_of[reader] = mark;
    }
}

/* What it reads is read where its last step stands. */
static void read_later(sh_blocker *b, uint32_t value, uint32_t step) {
    uint32_t *last = &b->last[b->plan->values[value].buffer];
    if (*last != SH_NO_STEP && *last < step) *last = step;
}

static void note_moves(sh_blocker *b, const sh_conv_choice *c) {
    read_later(b, c->conv.input, c->last);
    for (uint32_t i = 0; i < c->conv.after.n; i++)
        if (c->conv.after.at[i].kind == SH_POSTOP_ADD) read_later(b, c->conv.after.at[i].value, c->last);
}

/* A sum into the other operand's memory needs no memory of its own. */
static void settle_sum(const sh_blocker *b, sh_conv_choice *c) {
    if (sh__layout_is_plain(&b->plan->values[c->conv.output], SH_LAYOUT_LAST)) return;
    for (uint32_t i = 0; i < c->conv.after.n; i++) {
        sh_postop *op = &c->conv.after.at[i];
        if (op->kind != SH_POSTOP_ADD) continue;
        const bool reads_it = b->plan->values[op->value].buffer == b->plan->values[c->conv.input].buffer;
        if (!reads_it && sh__block_may_overwrite(b, op->value, c->last)) op->kind = SH_POSTOP_SUM;
    }
}

static void find_convs(sh_blocker *b) {
    for (uint32_t i = 0; i < b->draft.n; i++) {
        sh_conv_choice *c = &b->choices[b->nchoices];
        if (b->choice_of[i] || !is_settled(b, &b->draft.at[i])) continue;
        if (!sh__conv_read(b->plan, &b->draft.at[i], &c->conv)) continue;
        c->first = c->last = i;
        b->choice_of[i] = ++b->nchoices;
        take_pad(b, c, b->nchoices);
        take_readers(b, c, b->nchoices);
    }
}

/* ---- products ---- */

/* Takes over what follows a product, marking the steps if `mark` is set. */
static void take_product_readers(sh_blocker *b, sh_product_unit *p, uint32_t mark) {
    for (;;) {
        const uint32_t value = p->output, reader = only_reader(b, value);
        if (reader == SH_NO_STEP || !may_move(b, p->last, reader) || !is_settled(b, &b->draft.at[reader]))
            break;
        if (!sh__product_take_step(b->plan, &b->draft.at[reader], value, p)) break;
        p->last = reader;
        b->product_of[reader] = mark;
    }
}

static void give_product_back(sh_blocker *b, uint32_t first, uint32_t mark) {
    for (uint32_t i = first; i <= b->products[mark - 1].last; i++)
        if (b->product_of[i] == mark) b->product_of[i] = 0;
}

static sh_status find_products(sh_blocker *b) {
    for (uint32_t i = 0; i < b->draft.n; i++) {
        sh_product_unit *p = &b->products[b->nproducts];
        if (b->choice_of[i] || b->product_of[i] || !is_settled(b, &b->draft.at[i])) continue;
        if (!sh__product_read(b->plan, &b->draft.at[i], p)) continue;
        p->last = i;
        b->product_of[i] = ++b->nproducts;
        take_product_readers(b, p, b->nproducts);
        p->made = sh__product_pays(p) ? sh__product_new(p) : NULL;
        if (!p->made && sh_error()) return sh_error()->code;
        if (!p->made) give_product_back(b, i, b->nproducts);
    }
    return SH_OK;
}

/* The same of a product, which writes over nothing. */
static void note_product_moves(sh_blocker *b, const sh_product_unit *p) {
    read_later(b, p->input, p->last);
    for (uint32_t i = 0; i < p->after.n; i++)
        if (p->after.at[i].kind == SH_POSTOP_ADD) read_later(b, p->after.at[i].value, p->last);
}

/* ---- all ---- */

/* Steps that oneDNN has nothing for stay as they are. */
static void give_back(sh_blocker *b, uint32_t mark) {
    const sh_conv_choice *c = &b->choices[mark - 1];
    for (uint32_t i = c->first; i <= c->last; i++)
        if (b->choice_of[i] == mark) b->choice_of[i] = 0;
}

sh_status sh__block_find(sh_blocker *b, const sh_block_options *options) {
    find_convs(b);
    SH_TRY(find_products(b));
    for (uint32_t i = 0; i < b->nproducts; i++) note_product_moves(b, &b->products[i]);
    for (uint32_t i = 0; i < b->nchoices; i++) note_moves(b, &b->choices[i]);
    for (uint32_t i = 0; i < b->nchoices; i++) settle_sum(b, &b->choices[i]);
    const uint32_t all = options->ways ? options->ways : (1u << SH_CONV_WAYS) - 1;
    SH_TRY(sh__conv_choose(b->choices, b->nchoices, options->winograd == SH_WINOGRAD_OFF ? 0 : all));
    for (uint32_t mark = 1; mark <= b->nchoices; mark++)
        if (!b->choices[mark - 1].direct && !b->choices[mark - 1].winograd) give_back(b, mark);
    return SH_OK;
}
