/* scope.c - the per-thread list of results and the marks on it.
 *
 * `items` holds one reference per entry; scope_mark is where the innermost scope begins. A scope object
 * on the C stack only remembers the outer scope: if a longjmp skips it, the next outer end releases
 * what it held. */
#include "dispatch/scope.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"

static void item_release(uintptr_t item) {
    if (item & 1)
        sh__list_release((sh_list *)(item - 1));
    else
        sh__release((sh_tensor *)item);
}

static void warn_if_large(sh_thread *thread, sh_thread_cold *cold) {
    const size_t held = thread->nitems - thread->state.scope_mark;
    if (cold->scope_warned || !cold->scope_limit || held < cold->scope_limit) return;
    cold->scope_warned = true;
    if (cold->scope_file)
        sh_warn("the scope opened at %s:%u holds %zu results: put a scope inside the loop", cold->scope_file,
                cold->scope_line, held);
    else
        sh_warn("the thread's base scope holds %zu results: put a scope inside the loop", held);
}

/* Makes room for one more item. The capacity is kept at or below the next point where a warning may be due. */
static sh_status grow(sh_thread *thread) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return SH_ERROR_MEMORY;
    warn_if_large(thread, cold);
    const uint32_t capacity = thread->items_capacity ? thread->items_capacity * 2 : 64;
    uintptr_t *items = sh__realloc(thread->items, capacity * sizeof *items);
    if (!items) return SH_ERROR_MEMORY;
    thread->items = items;
    thread->items_capacity = capacity;
    return SH_OK;
}

static bool own_item(uintptr_t item) {
    sh_thread *thread = &sh__thread;
    if (thread->nitems == thread->items_capacity && grow(thread) < 0) {
        item_release(item);
        return false;
    }
    thread->items[thread->nitems++] = item;
    return true;
}

sh_tensor *sh__own_slow(sh_tensor *t) { return own_item((uintptr_t)t) ? t : NULL; }

sh_list *sh__own_list(sh_list *list) { return own_item((uintptr_t)list | 1) ? list : NULL; }

sh_list *sh__list_new(size_t n) {
    sh_list *list = sh__calloc(1, sizeof *list + n * sizeof *list->at);
    if (!list) return NULL;
    atomic_init(&list->refs, 1);
    list->n = (uint32_t)n;
    return list;
}

void sh__list_release(sh_list *list) {
    if (atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < list->n; i++) sh_release(list->at[i]);
    sh__free(list);
}

size_t sh_list_size(const sh_list *list) { return list ? list->n : 0; }

sh_tensor *sh_list_at(const sh_list *list, size_t i) {
    if (list && i < list->n) return list->at[i];
    sh_fail(SH_ERROR_INDEX, "entry %zu of a list with %zu", i, sh_list_size(list));
    return NULL;
}

sh_tensors sh_list_view(const sh_list *list) {
    return (sh_tensors){list ? list->at : NULL, sh_list_size(list)};
}

sh_value sh_value_item(sh_value list, int64_t i) {
    const int64_t at = i < 0 ? i + list.count : i;
    if (sh__error_pending()) return sh_none();
    if (list.tag != SH_TAG_TENSORS && list.tag != SH_TAG_INTS)
        sh_fail(SH_ERROR_TYPE, "entry %lld of a value that is no list", (long long)i);
    else if (at < 0 || at >= list.count)
        sh_fail(SH_ERROR_INDEX, "index %lld of a list with %u entries", (long long)i, list.count);
    else
        return list.tag == SH_TAG_INTS ? sh_value_int(list.as.ints[at])
                                       : sh_value_tensor(list.as.tensors[at]);
    return sh_none();
}

sh_value sh_list_value(sh_tensors tensors) {
    if (sh__error_pending()) return sh_none();
    sh_list *list = sh__list_new(tensors.n);
    for (size_t i = 0; list && i < tensors.n; i++) list->at[i] = sh_keep(tensors.at[i]);
    if (!list || !sh__own_list(list)) return sh_none();
    return sh_value_tensors(sh_list_view(list));
}

/* Which of the kept values this item is, or -1. */
static int kept_index(uintptr_t item, const sh_value *kept, uint32_t nkept) {
    for (uint32_t i = 0; i < nkept; i++)
        if (kept[i].tag == SH_TAG_TENSORS
                ? item == ((uintptr_t)sh__list_of(kept[i]) | 1)
                : kept[i].tag == SH_TAG_TENSOR && item == (uintptr_t)kept[i].as.tensor)
            return (int)i;
    return -1;
}

/* What a deleter put on the list while entries were released stands after `end`: it moves down to `to`. */
static void close_gap(sh_thread *thread, uint32_t to, uint32_t end) {
    for (uint32_t i = end; i < thread->nitems; i++) thread->items[to++] = thread->items[i];
    thread->nitems = to;
}

static void release_all(uint32_t mark) {
    sh_thread *thread = &sh__thread;
    const uint32_t end = thread->nitems;
    for (uint32_t i = mark; i < end; i++) {
        const uintptr_t item = thread->items[i];
        if (SH_UNLIKELY(item & 1))
            sh__list_release((sh_list *)(item - 1));
        else
            sh__release((sh_tensor *)item);
    }
    if (SH_UNLIKELY(thread->nitems != end))
        close_gap(thread, mark, end);
    else
        thread->nitems = mark;
}

void sh__scope_release(uint32_t mark, const sh_value *kept, uint32_t nkept) {
    sh_thread *thread = &sh__thread;
    const uint32_t end = thread->nitems;
    uint32_t to = mark;
    if (mark >= end) return;
    if (!nkept) {
        release_all(mark);
        return;
    }
    uint32_t found = 0; /* one reference of each kept value stays */
    for (uint32_t i = mark; i < end; i++) {
        const uintptr_t item = thread->items[i];
        const int k = kept_index(item, kept, nkept);
        if (k >= 0 && !(found >> k & 1)) {
            found |= 1u << k;
            thread->items[to++] = item;
        } else {
            item_release(item);
        }
    }
    close_gap(thread, to, end);
}

/* Where the results that a running callback or kernel made begin; 0 outside of one. */
static uint32_t own_mark(const sh_thread *thread) {
    return thread->depth ? thread->cold->frames[thread->depth - 1].mark : 0;
}

/* Releases what stands from `mark` on, but not the results of the call in flight: a scope around sh_next or around an
 * answer hands them to the enclosing one. */
static void release_from(const sh_thread *thread, uint32_t mark) {
    const sh_call *call = thread->depth ? thread->cold->frames[thread->depth - 1].call : NULL;
    const bool holds = call && (call->has_result || call->answered || call->in_kernel);
    sh__scope_release(mark, holds ? call->results : NULL, holds ? call->nresults : 0);
}

sh_scope sh_scope_begin(const char *file, int line) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    sh_scope scope = {thread->nitems, 1, thread->state.scope_mark, thread->state.scope_escaped, 0, NULL};
    sh__state_changes(thread);
    thread->state.scope_mark = thread->nitems;
    thread->state.scope_escaped = 0;
    thread->state.balance++;
    sh_thread_cold *cold = thread->cold;
    if (!cold) return scope;
    scope.outer_file = cold->scope_file;
    scope.outer_line = cold->scope_line;
    cold->scope_file = file;
    cold->scope_line = (uint32_t)line;
    return scope;
}

void sh_scope_end(sh_scope *scope) {
    if (!scope->open) return;
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    sh__state_changes(thread);
    if (scope->mark < own_mark(thread)) {
        sh_fail(SH_ERROR_MODE, "sh_scope_end: a callback can't end a scope that was opened outside it");
        return;
    }
    scope->open = 0;
    thread->state.balance--;
    if (scope->mark > thread->nitems) return;
    const uint32_t escaped = thread->state.scope_mark == scope->mark ? thread->state.scope_escaped : 0;
    release_from(thread, scope->mark + escaped);
    thread->state.scope_mark = scope->outer_mark;
    thread->state.scope_escaped = scope->outer_escaped;
    sh_thread_cold *cold = thread->cold;
    if (!cold) return;
    cold->scope_file = scope->outer_file;
    cold->scope_line = scope->outer_line;
}

void sh_scope_clear(void) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    const uint32_t mark = thread->state.scope_mark + thread->state.scope_escaped, own = own_mark(thread);
    release_from(thread, mark > own ? mark : own);
}

void sh_scope_set_limit(size_t results) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return;
    cold->scope_limit = results;
    cold->scope_warned = false;
}

size_t sh_scope_held(void) { return sh__thread.nitems; }

/* Moves the item in front of those that the enclosing scope doesn't get. */
static void escape_item(uintptr_t item) {
    sh_thread *thread = &sh__thread;
    sh__recover_here(thread);
    const uint32_t first = thread->state.scope_mark + thread->state.scope_escaped;
    if (thread->state.scope_mark < own_mark(thread)) return;
    for (uint32_t i = thread->nitems; i-- > first;) {
        if (thread->items[i] != item) continue;
        thread->items[i] = thread->items[first];
        thread->items[first] = item;
        thread->state.scope_escaped++;
        return;
    }
}

sh_tensor *sh_escape(sh_tensor *t) {
    if (t) escape_item((uintptr_t)t);
    return t;
}

sh_value sh_escape_value(sh_value value) {
    if (value.tag == SH_TAG_TENSOR) escape_item((uintptr_t)value.as.tensor);
    if (value.tag == SH_TAG_TENSORS) escape_item((uintptr_t)sh__list_of(value) | 1);
    return value;
}

sh_tensor *sh_keep(sh_tensor *t) {
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void sh_release(sh_tensor *t) {
    if (t) sh__release(t);
}
