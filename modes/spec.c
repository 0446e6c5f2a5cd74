/* spec.c - reading mode specifications.
 *
 *     spec   = mode { ";" mode }        mode = name [ ":" option { "," option } ]
 *
 * Options are read by dispatch/options.c, which also makes the errors. */
#include "modes/spec.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/thread.h"
#include "modes/options.h"

enum { LONGEST_SPEC = 1 << 16, MOST_MODES = 64 };

static sh_status read_options(sh_spec_reader *r, sh_options *o, sh_mode_maker *make) {
    memset(o, 0, sizeof *o);
    sh_mode_type types[SH_MODE_TYPES];
    const size_t n = sh__mode_types(types);
    SH_TRY(sh__reader_group(r, "mode", types, n, &o->type));
    o->type = sh__mode_type_find(o->type->name, make);
    if (!o->type) return sh__reader_bad(r, r->text, "a mode was removed meanwhile", NULL, NULL);
    if (*r->at != ':') return SH_OK;
    r->at++;
    return sh__reader_options(r, o);
}

/* What a maker finds wrong with values points at its mode. */
static sh_status make(const sh_spec_reader *r, const char *place, sh_mode_maker maker, const sh_options *o,
                      sh_mode **mode) {
    *mode = NULL;
    SH_TRY(sh__reader_point(r, place, maker(o, mode)));
    if (*mode) return SH_OK;
    return sh__reader_bad(r, place, "its maker gave no mode:", o->type->name, NULL);
}

static sh_status reader_open(sh_spec_reader *r, const char *spec) {
    if (sh__error_pending()) return sh_error()->code;
    if (!spec) return sh_fail(SH_ERROR_NULL, "the mode specification is NULL");
    if (strlen(spec) > LONGEST_SPEC)
        return sh_fail(SH_ERROR_SPEC, "a mode specification of %zu characters is too long", strlen(spec));
    *r = (sh_spec_reader){spec, spec};
    return SH_OK;
}

sh_status sh_mode_from_spec(const char *spec, sh_mode **mode) {
    sh_spec_reader r;
    sh_options o;
    sh_mode_maker maker;
    SH_TRY(reader_open(&r, spec));
    sh_status status = read_options(&r, &o, &maker);
    if (status >= 0 && *r.at) status = sh__reader_bad(&r, r.at, "only one mode is expected here", NULL, NULL);
    if (status >= 0) status = make(&r, r.text, maker, &o, mode);
    sh_options_free(&o);
    return status;
}

/* ---- several ---- */

static sh_status too_many(const sh_spec_reader *r) {
    return sh__reader_bad(r, r->at, "too many modes", NULL, NULL);
}

static sh_status read_and_push(sh_spec_reader *r, sh_status (*push)(sh_mode *), sh_mode **pushed) {
    sh_options o;
    sh_mode *mode = NULL;
    sh_mode_maker maker;
    const char *place = r->at + strspn(r->at, " ");
    sh_status status = read_options(r, &o, &maker);
    if (status >= 0) status = make(r, place, maker, &o, &mode);
    if (status >= 0) status = push(mode);
    sh_options_free(&o);
    if (status < 0)
        sh_mode_release(mode);
    else
        *pushed = mode;
    return status;
}

static sh_status push_all(const char *spec, sh_status (*push)(sh_mode *), sh_status (*pop)(sh_mode *)) {
    sh_mode *modes[MOST_MODES];
    size_t n = 0;
    sh_spec_reader r;
    SH_TRY(reader_open(&r, spec));
    sh_status status = SH_OK;
    for (bool more = true; more && status >= 0;) {
        status = n == MOST_MODES ? too_many(&r) : read_and_push(&r, push, &modes[n]);
        if (status < 0) break;
        n++;
        more = *r.at == ';' && r.at[1];
        if (*r.at == ';') r.at++;
    }
    for (size_t i = n; i-- > 0;) {
        if (status < 0) pop(modes[i]);
        sh_mode_release(modes[i]);
    }
    return status;
}

sh_status sh_mode_push_spec(const char *spec) { return push_all(spec, sh_push_mode, sh_pop_mode); }
sh_status sh_mode_push_spec_global(const char *spec) {
    return push_all(spec, sh_push_mode_global, sh_pop_mode_global);
}

static sh_status drop(sh_mode *mode) {
    (void)mode;
    return SH_OK;
}

sh_status sh_mode_check_spec(const char *spec) {
    sh__report_mute(true);
    const sh_status status = push_all(spec, drop, drop);
    sh__report_mute(false);
    return status;
}

/* ---- explaining ---- */

static void explain_one(FILE *out, const sh_options *o) {
    fprintf(out, "%s: %s\n", o->type->name, o->type->help);
    for (size_t i = 0; o->type->options[i].name; i++) {
        const sh_option *option = &o->type->options[i];
        const char *value = o->text[i] ? o->text[i] : option->standard;
        fprintf(out, "  %-10s = %-16s %s %s\n", option->name, value ? value : "-",
                o->text[i] ? "given;  " : "default;", option->help);
    }
}

static sh_status explain_all(sh_spec_reader *r, FILE *out) {
    size_t n = 0;
    for (bool more = true; more;) {
        sh_options o;
        sh_mode_maker maker;
        if (n++ == MOST_MODES) return too_many(r);
        const sh_status status = read_options(r, &o, &maker);
        if (status >= 0) explain_one(out, &o);
        sh_options_free(&o);
        SH_TRY(status);
        more = *r->at == ';' && r->at[1];
        if (*r->at == ';') r->at++;
    }
    return SH_OK;
}

sh_status sh_mode_explain(const char *spec, char **text) {
    sh_spec_reader r;
    size_t size;
    SH_TRY(reader_open(&r, spec));
    FILE *out = open_memstream(text, &size);
    if (!out) return sh_fail(SH_ERROR_MEMORY, "out of memory");
    sh_status status = explain_all(&r, out);
    const bool incomplete = ferror(out) != 0;
    if ((fclose(out) != 0 || incomplete) && status >= 0) status = sh_fail(SH_ERROR_MEMORY, "out of memory");
    if (status >= 0) return SH_OK;
    free(*text);
    *text = NULL;
    return status;
}
