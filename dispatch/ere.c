/* ere.c - a scan that bounds what an expression costs, then regcomp.
 *
 * The scan adds up atoms, one group a frame of a small stack. A repeat multiplies the atom or group before it.
 * Repeats of something that repeats already, (a*)* or a**, are counted too: behind an anchor each that regcomp
 * meets may double its time.
 * Where the expression is malformed the scan only has to stay inside it, since regcomp will refuse it.
 *
 * regcomp doesn't say where the fault is. The shortest beginning from which on every longer one fails in the
 * same way ends at it. */
#include "dispatch/ere.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 512, MAX_DEPTH = 32, MAX_ATOMS = 1000, MAX_NESTED = 10 };

typedef struct cost {
    size_t atoms;  /* copies counted */
    size_t nested; /* repeats around something that repeats */
    bool repeats;  /* something in it does */
} cost;

typedef struct frame {
    cost all;  /* of this group so far */
    cost last; /* of what a repeat would copy */
} frame;

typedef struct scan {
    const char *at;
    frame frames[MAX_DEPTH + 1];
    int depth;
} scan;

/* The ']' that closes the bracket expression at `at`, or the end. */
static const char *bracket_end(const char *at) {
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']') at++;
    while (*at && *at != ']') {
        const char kind = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? at[1] : 0;
        at += kind ? 2 : 1;
        while (kind && *at && !(at[0] == kind && at[1] == ']')) at++;
        if (kind && *at) at += 2;
    }
    return at;
}

static void add(scan *s, cost item) {
    frame *const f = &s->frames[s->depth];
    f->all.atoms += item.atoms;
    f->all.nested += item.nested;
    f->all.repeats |= item.repeats;
    f->last = item;
}

static void add_atom(scan *s) { add(s, (cost){.atoms = 1}); }

/* A group is a node itself, so that copies of an empty one count too. */
static void leave_group(scan *s) {
    cost group = s->frames[s->depth--].all;
    group.atoms++;
    add(s, group);
}

/* The last item again, `copies` times. */
static void repeat(scan *s, size_t copies) {
    frame *const f = &s->frames[s->depth];
    const cost once = f->last;
    f->last.atoms += once.atoms * copies;
    f->last.nested += once.nested * copies + once.repeats;
    f->last.repeats = f->all.repeats = true;
    f->all.atoms += f->last.atoms - once.atoms;
    f->all.nested += f->last.nested - once.nested;
}

/* {n}, {n,} or {n,m}: the larger number, plus one for the copy that may repeat without end. Stops at its last
 * character; what is no interval is left for the next steps. */
static void repeat_interval(scan *s) {
    char *comma;
    const unsigned long low = strtoul(s->at + 1, &comma, 10);
    const unsigned long high = *comma == ',' ? strtoul(comma + 1, NULL, 10) : 0;
    const unsigned long most = low > high ? low : high;
    repeat(s, most > MAX_ATOMS ? MAX_ATOMS : most);
    s->at += strspn(s->at + 1, "0123456789,");
    if (s->at[1] == '}') s->at++;
}

/* Steps over one item. Returns what is wrong with it, or NULL. */
static const char *step(scan *s) {
    switch (*s->at) {
    case '(':
        if (s->depth == MAX_DEPTH) return "parentheses nest too deep";
        s->frames[++s->depth] = (frame){0};
        break;
    case ')':
        if (s->depth) leave_group(s);
        break;
    case '?':
    case '*': repeat(s, 0); break;
    case '+': repeat(s, 1); break;
    case '{': repeat_interval(s); break;
    case '\\':
        if (s->at[1] >= '1' && s->at[1] <= '9') return "back-references are not supported";
        if (s->at[1]) s->at++;
        add_atom(s);
        break;
    case '[':
        s->at = bracket_end(s->at);
        add_atom(s);
        if (!*s->at) return NULL;
        break;
    default: add_atom(s);
    }
    s->at++;
    const cost *const all = &s->frames[s->depth].all;
    if (all->nested > MAX_NESTED) return "too many of its repeats stand around repeats";
    return all->atoms > MAX_ATOMS ? "its repeats multiply to too many states" : NULL;
}

static const char *check_cost(const char *text, const char **where) {
    scan s = {.at = text};
    if (strlen(text) > MAX_LENGTH) {
        *where = text + MAX_LENGTH;
        return "the expression is too long";
    }
    while (*s.at) {
        *where = s.at;
        const char *const wrong = step(&s);
        if (wrong) return wrong;
    }
    return NULL;
}

static int try_prefix(const char *text, size_t length) {
    char prefix[MAX_LENGTH + 1];
    regex_t regex;
    memcpy(prefix, text, length);
    prefix[length] = '\0';
    const int code = regcomp(&regex, prefix, REG_EXTENDED | REG_NOSUB);
    if (!code) regfree(&regex);
    return code;
}

static const char *place_of(int code, const char *text) {
    size_t length = strlen(text);
    while (length > 1 && try_prefix(text, length - 1) == code) length--;
    return text + (length ? length - 1 : 0);
}

bool sh__ere_compile(const char *text, regex_t *regex, char *wrong, size_t size, const char **where) {
    const char *const costly = check_cost(text, where);
    if (costly) {
        snprintf(wrong, size, "%s", costly);
        return false;
    }
    const int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (!code) return true;
    regerror(code, regex, wrong, size);
    *where = place_of(code, text);
    return false;
}
