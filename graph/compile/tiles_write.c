/* tiles_write.c - from steps to the code of a unit.
 *
 * First every operand is one of its own: what is read, each result, each conversion. A loop reads types of its own
 * (common and as, see iter.h); where an operand is of another, it is converted first, once for all that want it so. Then
 * temporaries get their places, last freed first taken; a result takes that of an operand which dies there if it is as
 * wide. */
#include <string.h>

#include "dispatch/memory_impl.h"
#include "dispatch/tensor_impl.h"
#include "graph/compile/tiles_impl.h"

enum { FIRST_ROOM = 32, TILE_LEAST = 256, TILE_MOST = 1024, CACHE = 40 * 1024 };
#define NONE UINT32_MAX

struct sh_tiles_operand {
    sh_place_kind kind;
    uint32_t value;         /* what is read or written; NUMBER: the constant */
    sh_dtype dtype, common; /* common: what a NUMBER is rounded to first */
    uint32_t converted;     /* NONE, or the same in another dtype: the last one asked for */
    uint32_t last;          /* the code that wants it last */
    uint16_t place;
};

/* ---- operands and code ---- */

/* NONE where memory is out. */
static uint32_t add_operand(sh_tiles_writer *w, sh_place_kind kind, uint32_t value, sh_dtype dtype) {
    if (w->noperands == w->operands_room) {
        const uint32_t more = w->operands_room ? 2 * w->operands_room : FIRST_ROOM;
        sh_tiles_operand *moved = sh__realloc(w->operands, more * sizeof *moved);
        if (!moved) return NONE;
        w->operands = moved;
        w->operands_room = more;
    }
    w->operands[w->noperands] = (sh_tiles_operand){
        .kind = kind, .value = value, .dtype = dtype, .common = dtype, .converted = NONE, .last = NONE};
    return w->noperands++;
}

static sh_tiles_code *add_code(sh_tiles_writer *w, sh_loop *loop, uint32_t to, const void *parameters,
                               size_t size) {
    sh_tiles *unit = w->unit;
    if (unit->ncode == w->code_room) {
        const uint32_t more = w->code_room ? 2 * w->code_room : FIRST_ROOM;
        sh_tiles_code *moved = sh__realloc(unit->code, more * sizeof *moved);
        if (!moved) return NULL;
        unit->code = moved;
        w->code_room = more;
    }
    sh_tiles_code *code = &unit->code[unit->ncode++];
    *code = (sh_tiles_code){.loop = loop, .to = (uint16_t)to, .from = {UINT16_MAX, UINT16_MAX, UINT16_MAX}};
    if (!parameters) return code;
    memcpy(code->own, parameters, size);
    code->parameters = code->own;
    return code;
}

static void read_operand(sh_tiles_writer *w, sh_tiles_code *code, int i, uint32_t operand) {
    code->from[i] = (uint16_t)operand;
    w->operands[operand].last = (uint32_t)(code - w->unit->code);
}

/* ---- conversions ---- */

typedef struct pair {
    uint8_t to, from;
} pair;

static void convert(void *to, const void *first, const void *second, const void *third, int64_t n,
                    const void *parameters) {
    (void)second, (void)third;
    const pair *dtypes = parameters;
    sh__convert((sh_dtype)dtypes->to, to, (sh_dtype)dtypes->from, first, n);
}

static bool add_conversion(sh_tiles_writer *w, uint32_t to, uint32_t from) {
    const pair dtypes = {(uint8_t)w->operands[to].dtype, (uint8_t)w->operands[from].dtype};
    sh_tiles_code *code = add_code(w, convert, to, &dtypes, sizeof dtypes);
    if (code) read_operand(w, code, 0, from);
    return code;
}

/* The operand in this dtype. */
static uint32_t as_dtype(sh_tiles_writer *w, uint32_t operand, sh_dtype dtype) {
    if (operand == NONE || w->operands[operand].dtype == dtype) return operand;
    const uint32_t known = w->operands[operand].converted;
    if (known != NONE && w->operands[known].dtype == dtype) return known;
    const uint32_t made = add_operand(w, SH_PLACE_TEMPORARY, NONE, dtype);
    if (made == NONE || !add_conversion(w, made, operand)) return NONE;
    w->operands[operand].converted = made;
    return made;
}

/* ---- one step ---- */

static bool is_number(const sh_plan *plan, uint32_t value) {
    const sh_tensor *t = sh__value_constant(plan, value);
    return t && t->numel == 1;
}

static uint32_t number_operand(sh_tiles_writer *w, uint32_t value, sh_dtype common, sh_dtype as) {
    for (uint32_t i = 0; i < w->noperands; i++) {
        const sh_tiles_operand *o = &w->operands[i];
        if (o->kind == SH_PLACE_NUMBER && o->value == value && o->common == common && o->dtype == as)
            return i;
    }
    const uint32_t made = add_operand(w, SH_PLACE_NUMBER, value, as);
    if (made != NONE) w->operands[made].common = common;
    return made;
}

static int64_t numel_of(const sh_plan_value *v) {
    int64_t n = 1;
    for (int i = 0; i < v->spec.ndim; i++) n *= v->spec.sizes[i];
    return n;
}

/* A value of the unit's own, or one that it reads. */
static uint32_t value_operand(sh_tiles_writer *w, uint32_t value) {
    const sh_plan_value *v = &w->plan->values[value];
    if (w->of_value[value]) return w->of_value[value] - 1;
    const bool whole = numel_of(v) == w->unit->numel && sh__value_is_contiguous(v);
    const uint32_t made = add_operand(w, whole ? SH_PLACE_WHOLE : SH_PLACE_STREAM, value, v->spec.dtype);
    w->of_value[value] = made + 1;
    return made;
}

static uint32_t map_operand(sh_tiles_writer *w, uint32_t value, const sh_operand *wanted) {
    if (is_number(w->plan, value)) return number_operand(w, value, wanted->common, wanted->as);
    uint32_t operand = value_operand(w, value);
    if (wanted->common != wanted->as) operand = as_dtype(w, operand, wanted->common);
    return as_dtype(w, operand, wanted->as);
}

static bool write_step(sh_tiles_writer *w, const sh_plan_step *step) {
    sh_tiles_op op;
    uint32_t from[SH_MAP_OPERANDS];
    const uint32_t value = step->results[0];
    if (!sh__tiles_describe(w->plan, step, &op)) return false;
    const sh_map *map = &op.note.map;
    for (int i = 0; i < map->n; i++) {
        from[i] = map_operand(w, op.values[i], &map->from[i]);
        if (from[i] == NONE) return false;
    }
    const sh_dtype dtype = w->plan->values[value].spec.dtype;
    const uint32_t result =
        add_operand(w, w->inner[value] ? SH_PLACE_TEMPORARY : SH_PLACE_WRITTEN, value, dtype);
    const uint32_t made = map->made == dtype ? result : add_operand(w, SH_PLACE_TEMPORARY, NONE, map->made);
    if (result == NONE || made == NONE) return false;
    w->of_value[value] = result + 1;
    sh_tiles_code *code = add_code(w, map->loop, made, map->parameters, SH_MAP_PARAMETERS);
    if (!code) return false;
    for (int i = 0; i < map->n; i++) read_operand(w, code, i, from[i]);
    return made == result || add_conversion(w, result, made);
}

/* ---- places ---- */

/* Temporaries that are free, the last one freed on top. */
typedef struct shelf {
    uint16_t *free;
    uint32_t n;
} shelf;

static bool dies_at(const sh_tiles_writer *w, uint32_t operand, uint32_t at) {
    return operand != UINT16_MAX && w->operands[operand].kind == SH_PLACE_TEMPORARY &&
           w->operands[operand].last == at;
}

/* The place of an operand that dies here and is as wide as the result; conversions don't work in place. */
static bool take_over(sh_tiles_writer *w, uint32_t at, sh_tiles_operand *result) {
    const sh_tiles_code *code = &w->unit->code[at];
    if (code->loop == convert) return false;
    for (int i = 0; i < SH_MAP_OPERANDS; i++) {
        if (!dies_at(w, code->from[i], at)) continue;
        sh_tiles_operand *dying = &w->operands[code->from[i]];
        if (sh_dtype_size(dying->dtype) != sh_dtype_size(result->dtype)) continue;
        result->place = dying->place;
        dying->last = NONE;
        return true;
    }
    return false;
}

static void place_temporaries_of(sh_tiles_writer *w, uint32_t at, shelf *s) {
    const sh_tiles_code *code = &w->unit->code[at];
    sh_tiles_operand *result = &w->operands[code->to];
    if (result->kind == SH_PLACE_TEMPORARY && !take_over(w, at, result))
        result->place = s->n ? s->free[--s->n] : (uint16_t)w->unit->nplaces[SH_PLACE_TEMPORARY]++;
    for (int i = 0; i < SH_MAP_OPERANDS; i++) {
        if (!dies_at(w, code->from[i], at)) continue;
        s->free[s->n++] = w->operands[code->from[i]].place;
        w->operands[code->from[i]].last = NONE;
    }
    if (result->kind == SH_PLACE_TEMPORARY && result->last == NONE) s->free[s->n++] = result->place;
}

static bool place_temporaries(sh_tiles_writer *w) {
    shelf s = {sh__alloc((w->noperands + 1) * sizeof *s.free), 0};
    if (!s.free) return false;
    for (uint32_t i = 0; i < w->unit->ncode; i++) place_temporaries_of(w, i, &s);
    sh__free(s.free);
    return true;
}

/* All other operands have a place each, kind after kind. */
static void place_others(sh_tiles_writer *w, sh_tiles_edges *edges) {
    uint32_t next = w->unit->nplaces[SH_PLACE_TEMPORARY];
    for (sh_place_kind kind = SH_PLACE_NUMBER; kind < SH_PLACE_KINDS; kind++)
        for (uint32_t i = 0; i < w->noperands; i++) {
            if (w->operands[i].kind != kind) continue;
            w->operands[i].place = (uint16_t)next++;
            w->unit->nplaces[kind]++;
            if (kind == SH_PLACE_WRITTEN) edges->writes[edges->nwrites++] = w->operands[i].value;
            if (kind == SH_PLACE_WHOLE || kind == SH_PLACE_STREAM)
                edges->reads[edges->nreads++] = w->operands[i].value;
        }
    for (uint32_t i = 0; i < w->unit->ncode; i++) {
        sh_tiles_code *code = &w->unit->code[i];
        code->to = w->operands[code->to].place;
        for (int k = 0; k < SH_MAP_OPERANDS; k++)
            code->from[k] = code->from[k] == UINT16_MAX ? 0 : w->operands[code->from[k]].place;
        if (code->parameters) code->parameters = code->own;
    }
}

/* ---- sizes ---- */

/* As many elements as keep all places in the first cache. */
static void choose_tile(sh_tiles_writer *w) {
    sh_tiles *unit = w->unit;
    size_t widest = 1, places = 0;
    for (uint32_t i = 0; i < w->noperands; i++) {
        const size_t size = sh_dtype_size(w->operands[i].dtype);
        if (size > widest) widest = size;
    }
    for (int i = 0; i < SH_PLACE_KINDS; i++) places += unit->nplaces[i];
    const int64_t most = unit->nplaces[SH_PLACE_STREAM] ? SH_TILE : TILE_MOST,
                  fitting = (int64_t)(CACHE / (places * widest)) & ~INT64_C(63);
    unit->tile = fitting < TILE_LEAST ? TILE_LEAST : fitting < most ? fitting : most;
    if (unit->tile > unit->numel) unit->tile = unit->numel;
    unit->row = ((size_t)unit->tile * widest + 63) & ~(size_t)63;
}

/* The constant, rounded as an operand is, as often as there are elements in a tile. */
static void lay_number(const sh_tiles_writer *w, const sh_tiles_operand *o, char *row) {
    const sh_tensor *t = sh__value_constant(w->plan, o->value);
    const size_t size = sh_dtype_size(o->dtype);
    char rounded[16];
    if (o->common == o->dtype) {
        sh__convert(o->dtype, row, (sh_dtype)t->dtype, t->data, 1);
    } else {
        sh__convert(o->common, rounded, (sh_dtype)t->dtype, t->data, 1);
        sh__convert(o->dtype, row, o->common, rounded, 1);
    }
    for (int64_t i = 1; i < w->unit->tile; i++) memcpy(row + (size_t)i * size, row, size);
}

static bool lay_numbers(const sh_tiles_writer *w) {
    sh_tiles *unit = w->unit;
    const uint32_t first = unit->nplaces[SH_PLACE_TEMPORARY];
    if (!unit->nplaces[SH_PLACE_NUMBER]) return true;
    unit->numbers = sh__block_alloc(unit->nplaces[SH_PLACE_NUMBER] * unit->row, &unit->numbers_capacity);
    if (!unit->numbers) return false;
    for (uint32_t i = 0; i < w->noperands; i++)
        if (w->operands[i].kind == SH_PLACE_NUMBER)
            lay_number(w, &w->operands[i], unit->numbers + (w->operands[i].place - first) * unit->row);
    return true;
}

/* ---- the unit ---- */

static bool write_all(sh_tiles_writer *w, const sh_plan_step *steps, uint32_t n, sh_tiles_edges *edges) {
    for (uint32_t i = 0; i < n; i++)
        if (!write_step(w, &steps[i])) return false;
    if (!place_temporaries(w)) return false;
    place_others(w, edges);
    choose_tile(w);
    sh__tiles_measure(w->unit);
    return lay_numbers(w);
}

sh_tiles *sh__tiles_write(sh_tiles_writer *w, const sh_plan_step *steps, uint32_t n, sh_tiles_edges *edges) {
    sh_tiles *unit = w->unit = sh__calloc(1, sizeof *unit);
    if (!unit) return NULL;
    w->code_room = w->noperands = 0;
    unit->nops = n;
    unit->numel = numel_of(&w->plan->values[steps[0].results[0]]);
    unit->threads = sh__threads(unit->numel);
    const bool done = write_all(w, steps, n, edges);
    for (uint32_t i = 0; i < w->noperands; i++)
        if (w->operands[i].value != NONE) w->of_value[w->operands[i].value] = 0;
    if (done) return unit;
    sh__tiles_free(unit);
    return NULL;
}

void sh__tiles_writer_end(sh_tiles_writer *w) {
    sh__free(w->operands);
    sh__free(w->of_value);
}
