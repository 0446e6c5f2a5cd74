#include "dispatch/policy.h"

#include <math.h>
#include <string.h>

#include "dispatch/thread.h"

/* A tolerance that was given; -1 if it was not. */
static sh_status read_tolerance(const sh_options *o, const char *name, double *value) {
    if (!sh_option_text(o, name)) return SH_OK;
    *value = sh_option_number(o, name);
    if (*value >= 0 && isfinite(*value)) return SH_OK;
    return sh_fail(SH_ERROR_SPEC, "%s: %s=%s: expected a number that is not negative", o->type->name, name,
                   sh_option_text(o, name));
}

sh_status sh_compare_read(sh_sampling *sampling, sh_tolerance *tolerance, const sh_options *o) {
    *tolerance = (sh_tolerance){-1, -1};
    SH_TRY(read_tolerance(o, "tol", &tolerance->rtol));
    SH_TRY(read_tolerance(o, "rtol", &tolerance->rtol));
    SH_TRY(read_tolerance(o, "atol", &tolerance->atol));
    sampling->first = sh_option_int(o, "first");
    sampling->every = sh_option_share(o, "then");
    if (sampling->first >= 0) return SH_OK;
    return sh_fail(SH_ERROR_SPEC, "%s: first=%s is negative", o->type->name, sh_option_text(o, "first"));
}

static const sh_option verify_options[] = {SH_COMPARE_OPTIONS("10", "1/100"),
                                           {NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
static const sh_option fallback_options[] = {{NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
static const sh_option_group groups[] = {
    {"verify", "compares what the kernel gives with ref", verify_options},
    {"fallback", "where the kernel fails the next one runs", fallback_options},
};

static sh_status read_one(sh_policy *policy, sh_spec_reader *r) {
    sh_options o = {0};
    sh__reader_blanks(r);
    const char *place = r->at;
    SH_TRY(sh__reader_group(r, "policy", groups, 2, &o.type));
    bool *given = o.type == &groups[0] ? &policy->verify : &policy->fallback;
    if (*given) return sh__reader_bad(r, place, "given twice:", o.type->name, NULL);
    *given = true;
    sh_status status = SH_OK;
    if (*r->at == ':') {
        r->at++;
        status = sh__reader_options(r, &o);
    }
    if (status >= 0 && o.type == &groups[0])
        status = sh__reader_point(r, place, sh_compare_read(&policy->sampling, &policy->tolerance, &o));
    sh_options_free(&o);
    return status;
}

sh_status sh_policy_parse(sh_policy *policy, const char *text) {
    sh_spec_reader r = {text, text};
    memset(policy, 0, sizeof *policy);
    if (sh__error_pending()) return sh_error()->code;
    if (!text || !*text) return SH_OK;
    for (;;) {
        SH_TRY(read_one(policy, &r));
        if (*r.at != ';' || !r.at[1]) return SH_OK;
        r.at++;
    }
}
