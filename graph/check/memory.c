/* memory.c - what a kernel writes to and gives back, against the marks of the schema. */
#include "graph/check/impl.h"

/* What the library's own views and factories of randomness do without a mark: a view of the first argument, or that itself. */
static bool may_share_unmarked(const sh_trial *t, uint32_t param) {
    return param == 0 && (t->op->tags & (SH_OP_VIEW | SH_OP_RANDOM));
}

static void check_mutation(sh_trial *t, const sh_instance *in) {
    const bool wanted = sh__check_begins(t, SH_CHECK_mutation);
    for (size_t i = 0; i < in->ntensors; i++) {
        const uint32_t p = in->params[i];
        const bool changed = sh__instance_changed(in, i),
                   marked = p < t->schema->nparams && t->schema->params[p].written;
        if (marked) t->given |= 1u << p;
        if (marked && changed) t->wrote |= 1u << p;
        if (!wanted || marked || !changed) continue;
        char type[32];
        sh_type_print(&t->schema->params[p], type, sizeof type);
        sh__check_fault(t, SH_CHECK_mutation,
                        "argument %s is written to, but its type is %s without a mark (a!)",
                        t->schema->params[p].name, type);
        return;
    }
}

static const sh_param *result_of(const sh_trial *t, size_t i) {
    const size_t n = t->schema->nreturns;
    return n ? &t->schema->returns[i < n ? i : n - 1] : NULL; /* a list has one, for all its entries */
}

static void tell_shared(sh_trial *t, const sh_instance *in, size_t tensor, const sh_tensor *result,
                        size_t i) {
    const char *name = t->schema->params[in->params[tensor]].name;
    if (result == in->tensors[tensor])
        sh__check_fault(t, SH_CHECK_aliasing,
                        "result %zu is argument %s itself, which the schema does not say", i, name);
    else
        sh__check_fault(t, SH_CHECK_aliasing,
                        "result %zu shares memory with argument %s, which the schema does not say", i, name);
}

/* False once a fault was told. */
static bool check_against_arguments(sh_trial *t, const sh_instance *in, const sh_tensor *result, size_t i) {
    const sh_param *declared = result_of(t, i);
    for (size_t k = 0; k < in->ntensors; k++) {
        const uint32_t p = in->params[k];
        if (p >= t->schema->nparams || !sh_tensor_same_storage(result, in->tensors[k])) continue;
        const bool marked = declared->alias && t->schema->params[p].alias == declared->alias;
        if (marked) t->shared |= 1u << (declared - t->schema->returns);
        if (marked || may_share_unmarked(t, p)) continue;
        tell_shared(t, in, k, result, i);
        return false;
    }
    return true;
}

static bool check_against_results(sh_trial *t, const sh_outcome *base, size_t i) {
    const sh_param *declared = result_of(t, i);
    for (size_t k = 0; k < i; k++) {
        if (!sh_tensor_same_storage(base->tensors[k], base->tensors[i])) continue;
        if (declared->alias || (t->op->tags & SH_OP_VIEW)) continue;
        sh__check_fault(t, SH_CHECK_aliasing, "results %zu and %zu share memory", k, i);
        return false;
    }
    return true;
}

static void check_aliasing(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    const bool wanted = sh__check_begins(t, SH_CHECK_aliasing);
    for (size_t i = 0; wanted && i < base->n; i++) {
        if (!base->tensors[i]->numel) continue;
        t->results |= 1u << (result_of(t, i) - t->schema->returns);
        if (!check_against_arguments(t, in, base->tensors[i], i)) return;
        if (!check_against_results(t, base, i)) return;
    }
}

/* Is the result the tensor that it is declared to be? A list is compared entry by entry. */
static void check_given_back(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    if (!sh__check_begins(t, SH_CHECK_alias)) return;
    for (size_t i = 0; i < base->n; i++) {
        const sh_param *declared = result_of(t, i);
        bool found = !declared->written;
        for (size_t k = 0; k < in->ntensors && !found; k++)
            found = in->params[k] < t->schema->nparams &&
                    t->schema->params[in->params[k]].alias == declared->alias &&
                    in->tensors[k] == base->tensors[i];
        if (found) continue;
        sh__check_fault(t, SH_CHECK_alias, "result %zu is marked (%c!), but is not the argument of that mark",
                        i, declared->alias);
        return;
    }
}

void sh__check_memory(sh_trial *t, const sh_instance *in, const sh_outcome *base) {
    check_mutation(t, in);
    check_aliasing(t, in, base);
    check_given_back(t, in, base);
}

/* An op with a flag `training` may have had it off. */
void sh__check_declared(sh_trial *t) {
    const uint32_t idle = t->given & ~t->wrote, apart = t->results & ~t->shared;
    for (uint32_t p = 0; p < t->schema->nparams && t->given && sh__check_begins(t, SH_CHECK_writes); p++)
        if (idle >> p & 1)
            sh__check_fault(t, SH_CHECK_writes, "argument %s is marked (%c!), but no sample changed it",
                            t->schema->params[p].name, t->schema->params[p].alias);
    for (uint32_t i = 0; i < t->schema->nreturns; i++)
        if (t->schema->returns[i].alias && (apart >> i & 1))
            sh__check_fault(t, SH_CHECK_alias,
                            "result %u is marked (%c), but shared memory with its argument in no sample", i,
                            t->schema->returns[i].alias);
}
