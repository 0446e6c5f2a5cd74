/* glob.c - matching remembers the last star only: when what follows it fails, the star takes one character
 * more. An earlier star never has to, since the last one can take whatever the earlier would have. So the worst
 * case is the product of the two lengths, where fnmatch can be exponential. */
#include "dispatch/glob.h"

/* Behind the ']' of the class that begins at `at`; NULL if it has none. A ']' that comes first is an entry. */
static const char *class_end(const char *at) {
    at += at[1] == '!' || at[1] == '^' ? 2 : 1;
    if (*at == ']') at++;
    while (*at && *at != ']') at++;
    return *at ? at + 1 : NULL;
}

static bool class_has(const char *at, const char *end, char c) {
    const bool negated = at[1] == '!' || at[1] == '^';
    bool found = false;
    for (at += negated ? 2 : 1; at < end - 1; at++) {
        const bool range = at[1] == '-' && at + 2 < end - 1;
        found |= range ? at[0] <= c && c <= at[2] : at[0] == c;
        if (range) at += 2;
    }
    return found != negated;
}

static bool ends(const char *at) { return !*at || *at == '|'; }

/* One character of the name against one item of the pattern; *next is behind the item. */
static bool item_matches(const char *at, char c, const char **next) {
    *next = *at == '[' ? class_end(at) : at + 1;
    return *at == '[' ? class_has(at, *next, c) : *at == '?' || *at == c;
}

static bool matches(const char *at, const char *name) {
    const char *star = NULL, *taken = NULL, *next;
    while (*name) {
        if (*at == '*') {
            star = ++at;
            taken = name;
        } else if (!ends(at) && item_matches(at, *name, &next)) {
            at = next;
            name++;
        } else if (star) {
            at = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (*at == '*') at++;
    return ends(at);
}

static const char *alternative_end(const char *at) {
    while (!ends(at)) at = *at == '[' ? class_end(at) : at + 1;
    return at;
}

bool sh__glob_match(const char *pattern, const char *name) {
    while (!matches(pattern, name)) {
        pattern = alternative_end(pattern);
        if (!*pattern++) return false;
    }
    return true;
}

static const char *check_item(const char *at, const char **next) {
    *next = *at == '[' ? class_end(at) : at + 1;
    if (!*next) return "'[' has no ']'";
    if (*at == '!') return "'!' stands in front of a filter only";
    if (*at == ' ' || *at == '\t') return "a name has no spaces";
    return NULL;
}

const char *sh__glob_check(const char *pattern, const char **where) {
    for (const char *at = pattern, *next;; at = next + 1) {
        *where = at;
        if (ends(at)) return "a name is missing";
        for (next = at; !ends(next);) {
            *where = next;
            const char *const wrong = check_item(next, &next);
            if (wrong) return wrong;
        }
        if (!*next) return NULL;
    }
}
