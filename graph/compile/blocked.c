/* blocked.c - see blocked.h: goes through a draft once and writes its steps anew.
 *
 * Of each value it knows in which layouts it has been written by now. A step that stays reads plain values, so those that only
 * a unit's layout has are copied in front of it. A view has no step: what is pending is known by buffer. */
#include "graph/compile/blocked_impl.h"

#include <string.h>

#include "dispatch/tensor_impl.h"
#include "graph/compile/copy_unit.h"
#include "graph/compile/unit_pool.h"
#include "ops/cpu/onednn.h"
#include "ops/iter.h"

/* ---- what reads what ---- */

static bool lets_go(const sh_plan_step *step) {
    return step->kind == SH_STEP_KERNEL || step->kind == SH_STEP_UNIT;
}

/* What goes through the dispatcher may hold on to what it reads and makes, and write to it. */
static void note_read(sh_blocker *b, const sh_plan_step *step, uint32_t value, uint32_t i) {
    const uint32_t buffer = b->plan->values[value].buffer;
    b->reader[value] = i;
    if (buffer != SH_NO_BUFFER && b->last[buffer] != SH_NO_STEP)
        b->last[buffer] = lets_go(step) ? i : SH_NO_STEP;
}

static void note_all(sh_blocker *b) {
    const sh_plan *plan = b->plan;
    for (uint32_t i = 0; i < b->nbuffers; i++) b->pending[i] = SH_NO_VALUE;
    for (uint32_t i = 0; i < b->nvalues; i++) {
        b->reader[i] = b->maker[i] = SH_NO_STEP;
        b->at[i][SH_LAYOUT_PLAIN] = i;
        b->at[i][SH_LAYOUT_LAST] = SH_NO_VALUE;
        if (plan->values[i].output && plan->values[i].buffer != SH_NO_BUFFER)
            b->last[plan->values[i].buffer] = SH_NO_STEP;
    }
    for (uint32_t i = 0; i < b->draft.n; i++) {
        const sh_plan_step *step = &b->draft.at[i];
        for (uint32_t k = 0; k < step->nloads; k++) note_read(b, step, step->loads[k].id, i);
        for (uint32_t k = 0; k < step->nresults; k++) {
            const uint32_t result = step->results[k], buffer = plan->values[result].buffer;
            b->maker[result] = i;
            if (buffer != SH_NO_BUFFER && !lets_go(step)) b->last[buffer] = SH_NO_STEP;
        }
    }
}

bool sh__block_may_overwrite(const sh_blocker *b, uint32_t value, uint32_t i) {
    const uint32_t buffer = b->plan->values[value].buffer;
    return b->plan->buffers[buffer].home == SH_HOME_ARENA && b->last[buffer] != SH_NO_STEP &&
           b->last[buffer] <= i;
}

/* ---- layouts ---- */

/* Where the value is written: channels last if it is in both layouts. */
static sh_layout private_layout(const sh_blocker *b, uint32_t value) {
    return b->at[value][SH_LAYOUT_LAST] != SH_NO_VALUE ? SH_LAYOUT_LAST : SH_LAYOUT_PLAIN;
}

/* A value of the same shape in a layout, on a buffer, or on one of its own. SH_NO_VALUE and an error. */
static uint32_t add_opaque(sh_blocker *b, uint32_t like, sh_layout layout, uint32_t buffer) {
    dnnl_memory_desc_t d;
    const sh_spec spec = b->plan->values[like].spec;
    if (buffer == SH_NO_BUFFER && sh__layout_of(spec.sizes, layout, &d) == dnnl_success)
        buffer = sh__plan_add_buffer(b->plan, SH_HOME_ARENA, dnnl_memory_desc_get_size(&d));
    if (buffer == SH_NO_BUFFER) return SH_NO_VALUE;
    const uint32_t id = sh__plan_add_value(b->plan, b->plan->values[like].name, &spec, buffer);
    if (id != SH_NO_VALUE) b->plan->values[id].opaque = true;
    return id;
}

/* Adds a unit in the place of a step. */
static sh_status add_unit(sh_blocker *b, const sh_plan_step *place, const sh_unit_type *type, void *unit,
                          const uint32_t *reads, uint32_t nreads, uint32_t result) {
    sh_plan_step *step =
        sh__plan_add_unit(b->plan, &b->plan->steps, place->name, type, unit, reads, nreads, &result, 1);
    if (!step) return SH_ERROR_MEMORY;
    step->scope = place->scope;
    step->site = place->site;
    return SH_OK;
}

static sh_status add_reorder(sh_blocker *b, const sh_plan_step *place, uint32_t value, sh_layout from,
                             sh_layout to) {
    dnnl_memory_desc_t described[2];
    const uint32_t source = b->at[value][from];
    const uint32_t result = to == SH_LAYOUT_PLAIN ? value : add_opaque(b, value, to, SH_NO_BUFFER);
    if (result == SH_NO_VALUE) return SH_ERROR_MEMORY;
    const sh_plan_value *v = &b->plan->values[value];
    if (sh__layout_describe(v, from, &described[0]) != SH_OK ||
        sh__layout_describe(v, to, &described[1]) != SH_OK)
        return sh_fail(SH_ERROR_UNSUPPORTED, "oneDNN: %s has no such layout", v->name);
    sh_primitive *p = sh__reorder_new(&described[0], source, &described[1], result);
    if (!p) return sh_error()->code;
    b->at[value][to] = result;
    return add_unit(b, place, &sh__unit_reorder, p, &source, 1, result);
}

static sh_status need(sh_blocker *b, const sh_plan_step *place, uint32_t value, sh_layout layout,
                      uint32_t *is);

/* Values on this buffer can be read as they are. */
static sh_status need_plain(sh_blocker *b, const sh_plan_step *place, uint32_t value) {
    const uint32_t buffer = b->plan->values[value].buffer;
    uint32_t is;
    if (buffer == SH_NO_BUFFER || buffer >= b->nbuffers || b->pending[buffer] == SH_NO_VALUE) return SH_OK;
    const uint32_t pending = b->pending[buffer];
    b->pending[buffer] = SH_NO_VALUE;
    return need(b, place, pending, SH_LAYOUT_PLAIN, &is);
}

/* The value in a layout, copied if need be. */
static sh_status need(sh_blocker *b, const sh_plan_step *place, uint32_t value, sh_layout layout,
                      uint32_t *is) {
    uint32_t *at = b->at[value];
    if (at[layout] == SH_NO_VALUE && private_layout(b, value) == SH_LAYOUT_PLAIN) {
        SH_TRY(need_plain(b, place, value));
        if (sh__layout_is_plain(&b->plan->values[value], layout)) {
            *is = value;
            return SH_OK;
        }
    }
    if (at[layout] == SH_NO_VALUE) SH_TRY(add_reorder(b, place, value, private_layout(b, value), layout));
    *is = at[layout];
    return SH_OK;
}

/* Where a unit writes a value that it makes in this layout: over the value `over`, if there is one. */
static sh_status make_result(sh_blocker *b, uint32_t value, sh_layout layout, uint32_t over, uint32_t *is) {
    const sh_plan_value *v = &b->plan->values[value];
    *is = value;
    if (v->spec.ndim != 4 || sh__layout_is_plain(v, layout)) return SH_OK;
    *is = add_opaque(b, value, layout, over == SH_NO_VALUE ? SH_NO_BUFFER : b->plan->values[over].buffer);
    if (*is == SH_NO_VALUE) return SH_ERROR_MEMORY;
    if (over != SH_NO_VALUE) b->plan->values[*is].at = b->plan->values[over].at;
    b->at[value][SH_LAYOUT_PLAIN] = SH_NO_VALUE;
    b->at[value][layout] = *is;
    b->pending[b->plan->values[value].buffer] = value;
    return SH_OK;
}

/* A packed constant that nothing else reads goes at once: the next one is packed into its memory. */
static void drop_packed(sh_blocker *b, uint32_t value) {
    sh_plan_buffer *buffer = &b->plan->buffers[b->plan->values[value].buffer];
    if (b->reads[value] != 1 || b->plan->values[value].output) return;
    sh__release(buffer->tensor);
    buffer->tensor = NULL;
}

/* ---- convolutions ---- */

static const sh_postop *added_by(const sh_conv_unit *conv) {
    for (uint32_t i = 0; i < conv->after.n; i++)
        if (conv->after.at[i].kind != SH_POSTOP_FUNCTION) return &conv->after.at[i];
    return NULL;
}

static void set_value(sh_primitive *p, int role, uint32_t value) {
    sh__primitive_argument(p, role)->value = value;
}

/* Reads and result as values, by which the unit then goes. */
static void set_direct(sh_primitive *p, const sh_conv_unit *conv, const sh_postop *added,
                       const uint32_t *reads, uint32_t result) {
    set_value(p, DNNL_ARG_SRC, reads[0]);
    set_value(p, DNNL_ARG_DST, result);
    if (added && added->kind == SH_POSTOP_ADD)
        set_value(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)(added - conv->after.at)) | DNNL_ARG_SRC_1,
                  reads[1]);
}

static sh_status pack_conv(sh_conv_choice *c, const sh_postop *added, const uint32_t *reads,
                           uint32_t result) {
    if (c->direct) {
        set_direct(c->direct, &c->conv, added, reads, result);
        return sh__conv_pack(&c->conv, c->direct);
    }
    c->winograd->input = reads[0];
    c->winograd->output = result;
    if (added) c->winograd->added = reads[1];
    return sh__winograd_pack(&c->conv, c->winograd);
}

static sh_status emit_conv(sh_blocker *b, sh_conv_choice *c, const sh_plan_step *place) {
    const sh_postop *added = added_by(&c->conv);
    uint32_t reads[2] = {SH_NO_VALUE, SH_NO_VALUE}, result;
    SH_TRY(need(b, place, c->conv.input, SH_LAYOUT_LAST, &reads[0]));
    if (added) SH_TRY(need(b, place, added->value, SH_LAYOUT_LAST, &reads[1]));
    const bool over = added && added->kind == SH_POSTOP_SUM;
    SH_TRY(make_result(b, c->conv.output, SH_LAYOUT_LAST, over ? reads[1] : SH_NO_VALUE, &result));
    SH_TRY(pack_conv(c, added, reads, result));
    drop_packed(b, c->conv.weight_value);
    const sh_unit_type *type = c->direct ? &sh__unit_conv : &sh__unit_winograd;
    void *unit = c->direct ? (void *)c->direct : c->winograd;
    c->direct = NULL;
    c->winograd = NULL;
    return add_unit(b, place, type, unit, reads, added ? 2 : 1, result);
}

/* ---- products ---- */

static sh_status emit_product(sh_blocker *b, sh_product_unit *unit, const sh_plan_step *place) {
    uint32_t reads[2] = {unit->input, SH_NO_VALUE}, nreads = 1;
    for (uint32_t i = 0; i < unit->after.n; i++)
        if (unit->after.at[i].kind == SH_POSTOP_ADD) reads[nreads++] = unit->after.at[i].value;
    for (uint32_t i = 0; i < nreads; i++) SH_TRY(need_plain(b, place, reads[i]));
    SH_TRY(sh__product_pack(unit, unit->made));
    drop_packed(b, unit->weight_value);
    sh_primitive *made = unit->made;
    unit->made = NULL;
    return add_unit(b, place, &sh__unit_product, made, reads, nreads, unit->output);
}

/* ---- what lies between them ---- */

typedef struct between {
    const sh_unit_type *type;
    sh_primitive *(*make)(const sh_plan *plan, const sh_plan_step *step);
} between;

/* Is one of the step's arguments channels last? */
static bool reads_last(const sh_blocker *b, const sh_plan_step *step) {
    for (uint32_t i = 0; i < step->nloads; i++)
        if (private_layout(b, step->loads[i].id) == SH_LAYOUT_LAST) return true;
    return false;
}

static sh_status emit_primitive(sh_blocker *b, const sh_plan_step *step, const between *kind,
                                sh_primitive *p) {
    static const int roles[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
    uint32_t reads[2], result;
    sh_status status = SH_OK;
    for (uint32_t i = 0; i < step->nloads && status == SH_OK; i++) {
        status = need(b, step, step->loads[i].id, SH_LAYOUT_LAST, &reads[i]);
        if (status == SH_OK) set_value(p, roles[i], reads[i]);
    }
    if (status == SH_OK) status = make_result(b, step->results[0], SH_LAYOUT_LAST, SH_NO_VALUE, &result);
    if (status < 0) {
        sh__primitive_free(p);
        return status;
    }
    set_value(p, DNNL_ARG_DST, result);
    return add_unit(b, step, kind->type, p, reads, step->nloads, result);
}

static sh_status emit_channels(sh_blocker *b, const sh_plan_step *step, sh_channels *c) {
    uint32_t reads[SH_MAX_ARGS * 4], n = 0;
    sh_status status = c->n <= SH_MAX_ARGS * 4 ? SH_OK : SH_PASS;
    for (uint32_t i = 0; i < c->n && status == SH_OK; i++) {
        if (c->parts[i].value == SH_NO_VALUE) continue;
        status = need(b, step, c->parts[i].value, SH_LAYOUT_LAST, &reads[n]);
        if (status == SH_OK) c->parts[i].value = reads[n++];
    }
    if (status == SH_OK) status = make_result(b, step->results[0], SH_LAYOUT_LAST, SH_NO_VALUE, &c->result);
    if (status == SH_OK) return add_unit(b, step, &sh__unit_channels, c, reads, n, c->result);
    sh__free(c);
    return status;
}

/* SH_PASS: it stays as it is. */
static sh_status emit_between(sh_blocker *b, const sh_plan_step *step) {
    static const between kinds[] = {{&sh__unit_pool, sh__pool_new},
                                    {&sh__unit_eltwise, sh__eltwise_new},
                                    {&sh__unit_binary, sh__binary_new}};
    if (step->kind != SH_STEP_KERNEL || !reads_last(b, step)) return SH_PASS;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sh_primitive *p = kinds[i].make(b->plan, step);
        if (p) return emit_primitive(b, step, &kinds[i], p);
        if (sh_error()) return sh_error()->code;
    }
    sh_channels *c = sh__channels_new(b->plan, step);
    if (c) return emit_channels(b, step, c);
    return sh_error() ? sh_error()->code : SH_PASS;
}

/* ---- the rest ---- */

/* What it may have written to in place is in no other layout any more. */
static void forget_copies(sh_blocker *b, const sh_plan_step *step) {
    if (step->kind != SH_STEP_CALL && step->kind != SH_STEP_KEPT) return;
    for (uint32_t i = 0; i < step->nloads; i++) {
        const uint32_t buffer = b->plan->values[step->loads[i].id].buffer;
        for (uint32_t v = 0; v < b->nvalues && buffer != SH_NO_BUFFER; v++)
            if (b->plan->values[v].buffer == buffer) b->at[v][SH_LAYOUT_LAST] = SH_NO_VALUE;
    }
}

/* Channels last as a view in the order of the bytes: [n, h, w, c] where the step would read it by way of n, c, h, w. */
static bool is_turned(const sh_plan_value *view, const sh_plan_value *of) {
    static const int order[] = {0, 2, 3, 1};
    bool turned = view->spec.ndim == 4 && of->spec.ndim == 4 && view->at == of->at && !view->output;
    for (int i = 0; i < 4 && turned; i++)
        turned = view->spec.sizes[i] == of->spec.sizes[order[i]] && view->strides[i] == of->strides[order[i]];
    return turned;
}

/* Reads a value that is pending, by such a view, where it is written already. */
static sh_status read_turned(sh_blocker *b, const sh_plan_step *step, sh_load *from) {
    const uint32_t buffer = b->plan->values[from->id].buffer;
    const uint32_t pending = buffer == SH_NO_BUFFER ? SH_NO_VALUE : b->pending[buffer];
    const uint32_t last = pending == SH_NO_VALUE ? SH_NO_VALUE : b->at[pending][SH_LAYOUT_LAST];
    if (last == SH_NO_VALUE || (step->kind != SH_STEP_KERNEL && step->type != &sh__copy_unit)) return SH_OK;
    if (!is_turned(&b->plan->values[from->id], &b->plan->values[pending])) return SH_OK;
    const sh_spec spec = b->plan->values[from->id].spec;
    const uint32_t id =
        sh__plan_add_value(b->plan, b->plan->values[from->id].name, &spec, b->plan->values[last].buffer);
    if (id == SH_NO_VALUE) return SH_ERROR_MEMORY;
    b->plan->values[id].at = b->plan->values[last].at;
    from->id = id;
    return SH_OK;
}

static sh_status emit_plain(sh_blocker *b, const sh_plan_step *step) {
    for (uint32_t i = 0; i < step->nloads; i++) {
        SH_TRY(read_turned(b, step, &step->loads[i]));
        SH_TRY(need_plain(b, step, step->loads[i].id));
    }
    forget_copies(b, step);
    return sh__plan_add_step(&b->plan->steps, step) ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status emit(sh_blocker *b, uint32_t i) {
    const sh_plan_step *step = &b->draft.at[i];
    sh_conv_choice *c = b->choice_of[i] ? &b->choices[b->choice_of[i] - 1] : NULL;
    if (c) return i == c->last ? emit_conv(b, c, step) : SH_OK;
    sh_product_unit *p = b->product_of[i] ? &b->products[b->product_of[i] - 1] : NULL;
    if (p) return i == p->last ? emit_product(b, p, step) : SH_OK;
    const sh_status status = emit_between(b, step);
    return status == SH_PASS ? emit_plain(b, step) : status;
}

static sh_status rewrite(sh_blocker *b, const sh_block_options *options) {
    static const sh_plan_step end = {.name = "output", .scope = ""};
    SH_TRY(sh__block_find(b, options));
    for (; b->done < b->draft.n; b->done++) SH_TRY(emit(b, b->done));
    for (uint32_t i = 0; i < b->nvalues; i++)
        if (b->plan->values[i].output) SH_TRY(need_plain(b, &end, i));
    return SH_OK;
}

/* ---- memory ---- */

static uint32_t *cut(uint32_t **at, size_t n) {
    uint32_t *begin = *at;
    *at += n;
    return begin;
}

/* Takes the plan's steps over. */
static sh_status begin(sh_blocker *b, uint32_t **block) {
    sh_plan *plan = b->plan;
    const size_t values = plan->nvalues, buffers = plan->nbuffers, steps = plan->steps.n;
    uint32_t *at = *block = sh__calloc((3 + SH_LAYOUTS) * values + 2 * buffers + 2 * steps + 1, sizeof *at);
    b->choices = sh__calloc(steps + 1, sizeof *b->choices);
    b->products = sh__calloc(steps + 1, sizeof *b->products);
    if (!at || !b->choices || !b->products) return SH_ERROR_MEMORY;
    b->nvalues = plan->nvalues;
    b->nbuffers = plan->nbuffers;
    b->reads = cut(&at, values);
    b->reader = cut(&at, values);
    b->maker = cut(&at, values);
    b->at = (uint32_t(*)[SH_LAYOUTS])cut(&at, SH_LAYOUTS * values);
    b->last = cut(&at, buffers);
    b->pending = cut(&at, buffers);
    b->choice_of = cut(&at, steps);
    b->product_of = cut(&at, steps);
    SH_TRY(sh__plan_count_reads(plan, b->reads));
    b->draft = plan->steps;
    plan->steps = (sh_plan_steps){NULL, 0, 0};
    note_all(b);
    return SH_OK;
}

static void end(sh_blocker *b, uint32_t *block) {
    for (uint32_t i = b->done; i < b->draft.n; i++)
        if (b->draft.at[i].kind == SH_STEP_UNIT && b->draft.at[i].type->free)
            b->draft.at[i].type->free(b->draft.at[i].unit);
    for (uint32_t i = 0; i < b->nchoices; i++) sh__conv_choice_free(&b->choices[i]);
    for (uint32_t i = 0; i < b->nproducts; i++) sh__primitive_free(b->products[i].made);
    sh__free(b->choices);
    sh__free(b->products);
    sh__free(b->draft.at);
    sh__free(block);
}

sh_status sh__plan_block(sh_plan *plan, const sh_block_options *options) {
    sh_blocker b = {.plan = plan};
    uint32_t *block;
    const int before = sh_onednn_limit(sh__threads(INT64_MAX));
    sh_status status = begin(&b, &block);
    if (status == SH_OK) status = rewrite(&b, options);
    sh_onednn_restore(before);
    end(&b, block);
    return status;
}
