/* closure.c - closures come and go.
 *
 * The living are in one list, where a pointer that is handed back is looked up, so that ending one twice is an error. The
 * dead keep their code for a while: of those, the last 64 answer a call with an error. Older ones are freed once no call
 * is in them. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "dispatch/ffi/closure.h"

enum { DEAD_KEPT = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sh_closure *living, *dead; /* the dead: newest first */

static void closure_free(sh_closure *c) {
    sh__trampoline_free(c->trampoline);
    for (uint32_t i = 0; i < SH_MAX_ARGS; i++) {
        if (!(c->given >> i & 1)) continue;
        if (c->values[i].tag == SH_TAG_TENSOR) sh_release(c->values[i].as.tensor);
        if (c->values[i].tag == SH_TAG_INTS || c->values[i].tag == SH_TAG_STRING)
            sh__free((void *)(uintptr_t)c->values[i].as.ints);
    }
    sh__free(c->program);
    sh__interface_free(c->interface);
    sh__signature_free(c->signature);
    sh__free(c);
}

/* ---- calls ---- */

/* What the caller gets where there is no result. */
static void give_error(const sh_closure *c, sh_status status, void *value) {
    const sh_ctype type = (sh_ctype)c->signature->returns.type;
    const float narrow = NAN;
    const double real = NAN;
    const long double wide = NAN;
    const int code = status;
    if (c->signature->returns.pointers) return;
    if (type == SH_C_F32) memcpy(value, &narrow, sizeof narrow);
    if (type == SH_C_F64) memcpy(value, &real, sizeof real);
    if (type == SH_C_LONG_DOUBLE) memcpy(value, &wide, sizeof wide);
    if (c->program->gives == SH_GIVES_STATUS) memcpy(value, &code, sizeof code);
}

static void on_call(void *value, void **args, void *user) {
    sh_closure *c = user;
    atomic_fetch_add(&c->running, 1);
    const bool seen = !sh__undisturbed(&sh__thread, c->op->family);
    const void *const frame[2] = {NULL, seen ? sh__closure_site(args) : NULL};
    sh_status status = SH_OK;
    if (!atomic_load(&c->live)) {
        status = sh_fail(SH_ERROR_HANDLE, "a closure of %s was called after its end", c->op->name);
    } else if (sh_op_schema(c->op) != c->program->schema) {
        status =
            sh_fail(SH_ERROR_OP, "a closure was called whose op %s is not defined any more", c->op->name);
    } else if (sh__error_pending()) {
        status = sh_error()->code;
    } else {
        sh_ccall call = {.closure = c, .at = args, .frame = frame};
        SH_SCOPE { status = sh__closure_run(&call, value); }
    }
    if (status < 0) {
        sh__error_ensure(status);
        give_error(c, status, value);
    }
    atomic_fetch_sub(&c->running, 1);
}

/* ---- making ---- */

static sh_status copy_value(sh_value *v) {
    if (v->tag == SH_TAG_TENSOR) sh_keep(v->as.tensor);
    if (v->tag == SH_TAG_STRING && !(v->as.string = sh__strdup(v->as.string))) return SH_ERROR_MEMORY;
    if (v->tag != SH_TAG_INTS) return SH_OK;
    int64_t *copy = sh__alloc((v->count + 1) * sizeof *copy);
    if (copy) memcpy(copy, v->as.ints, v->count * sizeof *copy);
    v->as.ints = copy;
    return copy ? SH_OK : SH_ERROR_MEMORY;
}

static sh_status take_given(sh_closure *c, const sh_schema *schema, const sh_argument *a) {
    const int i = a->name ? sh_schema_find(schema, a->name) : -1;
    int64_t room[SH_MAX_DIMS];
    const sh_call asked = {.op = c->op, .schema = schema};
    if (i < 0)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_closure_new: %s has no argument %s: %s", schema->name,
                       a->name ? a->name : "without a name", schema->text);
    sh_value v;
    if (a->value.tag == SH_TAG_TENSORS)
        return sh_fail(SH_ERROR_UNSUPPORTED, "sh_closure_new: argument %s: a list of tensors can't be given",
                       a->name);
    SH_TRY(sh__check_arg(&asked, &schema->params[i], &a->value, room, &v));
    if (c->given >> i & 1)
        return sh_fail(SH_ERROR_ARGUMENT, "sh_closure_new: argument %s is given twice", a->name);
    SH_TRY(copy_value(&v));
    c->values[i] = v;
    c->given |= 1u << i;
    return SH_OK;
}

static sh_status fit(sh_closure *c, const char *signature, const sh_schema *schema,
                     const sh_c_options *options) {
    for (uint32_t i = 0; i < schema->nparams; i++) c->values[i] = schema->params[i].value;
    for (size_t i = 0; options && i < options->given.n; i++)
        SH_TRY(take_given(c, schema, &options->given.at[i]));
    const sh_c_options as_closure = {.adapter = options ? options->adapter : SH_C_PLAIN,
                                     .flags = SH_C_CLOSURE | (options ? options->flags : 0)};
    if (as_closure.adapter != SH_C_PLAIN && as_closure.adapter != SH_C_GEMM)
        return sh_fail(SH_ERROR_VALUE, "sh_closure_new: a closure is plain or SH_C_GEMM");
    const bool may_be_self = c->op->tags & SH_OP_INPLACE;
    c->signature = sh__signature_parse(signature);
    if (!c->signature) return sh_error()->code;
    c->program = sh__cprogram_new(c->signature, schema, &as_closure, c->given | may_be_self);
    if (!c->program) return sh_error()->code;
    SH_TRY(sh__closure_check(c));
    c->interface = sh__interface_new(c->signature);
    if (!c->interface) return sh_error()->code;
    c->trampoline = sh__trampoline_new(c->interface, c->signature, on_call, c, &c->code);
    return c->trampoline ? SH_OK : sh_error()->code;
}

/* Where self goes to no parameter the result's memory is self: the in-place form. */
static sh_status find_self(sh_closure *c) {
    const sh_cprogram *p = c->program;
    bool brought = c->given & 1, written = false;
    for (uint32_t i = 0; i < p->narrays; i++) {
        brought |= !(p->steps[i].flags & SH_STEP_RESULT) && p->steps[i].source == 0;
        written |= (p->steps[i].flags & SH_STEP_RESULT) != 0;
    }
    if (brought || p->adapter == SH_C_GEMM || !p->schema->nparams ||
        p->schema->params[0].type != SH_TYPE_TENSOR)
        return SH_OK;
    c->in_place = written && (c->op->tags & SH_OP_INPLACE);
    if (c->in_place || p->schema->params[0].optional) return SH_OK;
    return sh__cprogram_fail(c->signature, &c->signature->items[0], "argument %s of %s goes to no parameter",
                             p->schema->params[0].name, p->schema->text);
}

sh_closure *sh_closure_new(const char *op, const char *signature, const sh_c_options *options) {
    if (sh__error_pending()) return NULL;
    const sh_op *found = op ? sh_op_find(op) : NULL;
    const sh_schema *schema = found ? sh_op_schema(found) : NULL;
    const char *near = op && !found ? sh_op_suggest(op) : NULL;
    if (!schema) {
        sh_fail(SH_ERROR_OP, "sh_closure_new: there is no op %s%s%s", op ? op : "NULL",
                near ? "; did you mean " : "", near ? near : "");
        return NULL;
    }
    sh_closure *c = sh__calloc(1, sizeof *c);
    if (!c) return NULL;
    c->op = found;
    if (fit(c, signature, schema, options) < 0 || find_self(c) < 0) {
        closure_free(c);
        return NULL;
    }
    atomic_init(&c->live, true);
    pthread_mutex_lock(&lock);
    c->next = living;
    living = c;
    pthread_mutex_unlock(&lock);
    return c;
}

/* ---- looking and ending ---- */

/* Under the lock: the link that leads to it, or NULL and an error. */
static sh_closure **find(const sh_closure *c) {
    sh_closure **link = &living;
    while (*link && *link != c) link = &(*link)->next;
    if (*link) return link;
    sh_fail(c ? SH_ERROR_HANDLE : SH_ERROR_NULL,
            c ? "the closure was ended before or never made" : "the closure is NULL");
    return NULL;
}

sh_c_function sh_closure_code(const sh_closure *closure) {
    pthread_mutex_lock(&lock);
    sh_closure **link = sh__error_pending() && !closure ? NULL : find(closure);
    const sh_c_function code = link ? (*link)->code : NULL;
    pthread_mutex_unlock(&lock);
    return code;
}

/* Under the lock: the oldest dead ones go, where no call is in them. */
static void bury(void) {
    sh_closure **link = &dead;
    for (int n = 0; *link && n < DEAD_KEPT; n++) link = &(*link)->next;
    while (*link) {
        sh_closure *c = *link;
        if (atomic_load(&c->running)) {
            link = &c->next;
            continue;
        }
        *link = c->next;
        closure_free(c);
    }
}

sh_status sh_closure_free(sh_closure *closure) {
    pthread_mutex_lock(&lock);
    sh_closure **link = find(closure);
    if (link) {
        *link = closure->next;
        atomic_store(&closure->live, false);
        closure->next = dead;
        dead = closure;
        bury();
    }
    pthread_mutex_unlock(&lock);
    return link ? SH_OK : closure ? SH_ERROR_HANDLE : SH_ERROR_NULL;
}
