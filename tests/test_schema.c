/* What dispatch/schema.h promises: PyTorch's schema language read into its parts, and for every line that is none
 * the column, what stood there and what should have. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/memory.h"
#include "dispatch/schema.h"

static sh_schema *parsed(const char *text) {
    sh_schema *schema = NULL;
    cr_assert(eq(int, (int)sh_schema_parse(text, &schema), SH_OK), "%s: %s", text,
              sh_error() ? sh_error()->message : "");
    return schema;
}

/* The schema is refused with a message that ends in `fault`. */
static void refused(const char *text, const char *fault) {
    sh_schema *schema = NULL;
    cr_assert(eq(int, (int)sh_schema_parse(text, &schema), SH_ERROR_SCHEMA), "%s is accepted", text);
    cr_expect(schema == NULL);
    cr_assert(sh_error() != NULL);
    const char *const message = sh_error()->message;
    const size_t length = strlen(message), tail = strlen(fault);
    cr_expect(eq(str, (char *)(length > tail ? message + length - tail : message), (char *)fault));
    sh_clear_error();
}

/* The default of the only argument of f(ARGUMENT) -> (). The schema is kept in *schema. */
static sh_value default_of(const char *argument, sh_schema **schema) {
    char text[128];
    snprintf(text, sizeof text, "f(%s) -> ()", argument);
    *schema = parsed(text);
    cr_assert(eq(u8, (*schema)->nparams, 1));
    cr_expect(eq(u8, (*schema)->params[0].has_default, 1));
    return (*schema)->params[0].value;
}

static void default_is(const char *argument, sh_value expected) {
    sh_schema *schema;
    const sh_value value = default_of(argument, &schema);
    cr_expect(sh_value_equal(value, expected), "%s: tag %u, %lld", argument, value.tag,
              (long long)value.as.i);
    sh_schema_free(schema);
}

Test(schema, arguments_and_results_in_order) {
    sh_schema *s =
        parsed("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
    cr_expect(eq(str, (char *)s->name, "max.dim"));
    cr_expect(eq(str, (char *)s->family, "max"));
    cr_assert(eq(u8, s->nparams, 3));
    cr_assert(eq(u8, s->nreturns, 2));
    cr_expect(eq(str, (char *)s->params[0].name, "self"));
    cr_expect(eq(int, (int)s->params[1].type, SH_TYPE_INT));
    cr_expect(eq(u8, s->params[1].has_default, 0));
    cr_expect(eq(int, (int)s->params[2].type, SH_TYPE_FLAG));
    cr_expect(eq(u8, s->params[2].has_default, 1));
    cr_expect(eq(str, (char *)s->returns[1].name, "indices"));
    sh_schema_free(s);
}

Test(schema, keeps_the_whole_line) {
    static const char line[] = "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    sh_schema *s = parsed(line);
    cr_expect(eq(str, (char *)s->text, (char *)line));
    cr_expect(eq(str, (char *)s->returns[0].name, ""));
    sh_schema_free(s);
}

Test(schema, a_star_makes_the_rest_keyword_only) {
    sh_schema *s = parsed("f(Tensor a, *, Scalar alpha=1, int b) -> Tensor");
    cr_expect(eq(u8, s->params[0].keyword_only, 0));
    cr_expect(eq(u8, s->params[1].keyword_only, 1));
    cr_expect(eq(u8, s->params[2].keyword_only, 1));
    sh_schema_free(s);
    s = parsed("f(*, int a) -> ()");
    cr_expect(eq(u8, s->params[0].keyword_only, 1));
    sh_schema_free(s);
}

Test(schema, names_have_a_namespace_and_an_overload) {
    sh_schema *s = parsed("mylib::gate.x2() -> ()");
    cr_expect(eq(str, (char *)s->name, "mylib::gate.x2"));
    cr_expect(eq(str, (char *)s->family, "mylib::gate"));
    cr_expect(eq(u8, s->nparams, 0));
    cr_expect(eq(u8, s->nreturns, 0));
    sh_schema_free(s);
    s = parsed("  __iadd__ ( ) -> ( )\t");
    cr_expect(eq(str, (char *)s->name, "__iadd__"));
    cr_expect(eq(str, (char *)s->family, "__iadd__"));
    sh_schema_free(s);
}

Test(schema, a_single_result_may_have_a_name) {
    sh_schema *s = parsed("f() -> Tensor out");
    cr_assert(eq(u8, s->nreturns, 1));
    cr_expect(eq(str, (char *)s->returns[0].name, "out"));
    sh_schema_free(s);
}

Test(schema, find_gives_the_place_or_minus_one) {
    sh_schema *s = parsed("f(Tensor self, int dim) -> Tensor");
    cr_expect(eq(int, sh_schema_find(s, "dim"), 1));
    cr_expect(eq(int, sh_schema_find(s, "di"), -1));
    cr_expect(eq(int, sh_schema_find(s, ""), -1));
    sh_schema_free(s);
}

Test(schema, every_type_prints_as_it_was_written) {
    static const char *const types[] = {
        "Tensor",       "Tensor?",    "Tensor[]", "Tensor[]?",  "Tensor?[]",   "Tensor?[]?", "Tensor(a)",
        "Tensor(a!)",   "Scalar",     "Scalar?",  "int",        "int?",        "int[]",      "int[]?",
        "Tensor(a!)[]", "Tensor(b)?", "int[2]",   "int[8]?",    "float",       "float?",     "bool",
        "bool?",        "str",        "str?",     "ScalarType", "ScalarType?",
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[64], printed[32];
        snprintf(text, sizeof text, "f(%s x) -> %s", types[i], types[i]);
        sh_schema *s = parsed(text);
        sh_type_print(&s->params[0], printed, sizeof printed);
        cr_expect(eq(str, printed, (char *)types[i]));
        sh_type_print(&s->returns[0], printed, sizeof printed);
        cr_expect(eq(str, printed, (char *)types[i]));
        sh_schema_free(s);
    }
}

Test(schema, types_land_in_their_fields) {
    sh_schema *s =
        parsed("f(Tensor(a!) x, Tensor?[] y, int[2]? z, Tensor(b -> *) w, SymInt[1] v) -> Tensor(a!)");
    cr_expect(eq(chr, s->params[0].alias, 'a'));
    cr_expect(eq(u8, s->params[0].written, 1));
    cr_expect(eq(u8, s->params[1].holes, 1));
    cr_expect(eq(u8, s->params[1].optional, 0));
    cr_expect(eq(int, (int)s->params[2].type, SH_TYPE_INTS));
    cr_expect(eq(u8, s->params[2].length, 2));
    cr_expect(eq(u8, s->params[2].optional, 1));
    cr_expect(eq(chr, s->params[3].alias, 'b'));
    cr_expect(eq(u8, s->params[3].written, 0));
    cr_expect(eq(int, (int)s->params[4].type, SH_TYPE_INTS));
    cr_expect(eq(u8, s->returns[0].written, 1));
    sh_schema_free(s);
}

Test(schema, number_defaults) {
    default_is("Scalar alpha=1", sh_value_int(1));
    default_is("Scalar alpha=-0.5", sh_value_float(-0.5));
    default_is("Scalar value=True", sh_value_flag(true));
    default_is("Scalar? min=None", sh_none());
    default_is("int dim=-1", sh_value_int(-1));
    default_is("int n=9223372036854775807", sh_value_int(INT64_MAX));
    default_is("int? dim=None", sh_none());
    default_is("int? dim=3", sh_value_int(3));
    default_is("float eps=1e-5", sh_value_float(1e-5));
    default_is("float eps=1.0000000000000001e-05", sh_value_float(1e-5));
    default_is("float p=2", sh_value_float(2));
    default_is("float p=1.", sh_value_float(1));
    default_is("float p=1e+3", sh_value_float(1000));
    default_is("float v=inf", sh_value_float((double)INFINITY));
    default_is("float v=-inf", sh_value_float(-(double)INFINITY));
    default_is("float v=nan", sh_value_float((double)NAN));
    default_is("bool b=False", sh_value_flag(false));
    default_is("bool? b=None", sh_none());
}

Test(schema, list_defaults) {
    default_is("int[] a=[0, 1]", sh_value_ints(SH_SIZES(0, 1)));
    default_is("int[] a=[]", sh_value_ints(SH_SCALAR_SHAPE));
    default_is("int[3] a=-7", sh_value_ints(SH_SIZES(-7, -7, -7)));
    default_is("int[2] a=[]", sh_value_ints(SH_SCALAR_SHAPE));
    default_is("int[1] a=[ -2 , -1 ]", sh_value_ints(SH_SIZES(-2, -1)));
    default_is("int[2]? a=None", sh_none());
    default_is("Tensor[] t=[]", sh_value_tensors((sh_tensors){NULL, 0}));
    default_is("Tensor? t=None", sh_none());
    default_is("Tensor[]? t=None", sh_none());
}

Test(schema, an_empty_list_is_not_none) {
    sh_schema *schema;
    cr_expect(default_of("int[] a=[]", &schema).as.ints != NULL);
    sh_schema_free(schema);
    cr_expect(default_of("Tensor[] a=[]", &schema).as.tensors != NULL);
    sh_schema_free(schema);
}

Test(schema, string_and_dtype_defaults) {
    default_is("str approximate='none'", sh_value_string("none"));
    default_is("str s=\"it's (a, b) -> c\"", sh_value_string("it's (a, b) -> c"));
    default_is("str s=''", sh_value_string(""));
    default_is("str? s=None", sh_none());
    default_is("ScalarType d=float32", sh_value_dtype(SH_F32));
    default_is("ScalarType d=bf16", sh_value_dtype(SH_BF16));
    default_is("ScalarType d=long", sh_value_dtype(SH_I64));
    default_is("ScalarType d=bool", sh_value_dtype(SH_B8));
    default_is("ScalarType? d=None", sh_none());
}

/* Skipped where no such locale is installed. */
Test(schema, numbers_do_not_depend_on_the_locale) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        cr_skip_test("no such locale");
    default_is("float eps=0.25", sh_value_float(0.25));
}

Test(schema, faults_in_names_and_types) {
    refused("", "column 1: expected the name of an op, got the end");
    refused("1f() -> ()", "column 1: expected the name of an op, got '1'");
    refused("a::b::c() -> ()", "column 5: expected '(', got ':'");
    refused("max.(int a) -> ()", "column 5: expected the name of an overload, got '('");
    refused("max .dim(int a) -> ()", "column 5: expected '(', got '.'");
    refused("f(Tensr x) -> ()",
            "column 3: expected a type (Tensor, Scalar, int, float, bool, str or ScalarType), got 'Tensr'");
    refused("f(Tensor) -> ()", "column 9: expected a name, got ')'");
    refused("f(Tensor x, int x) -> ()", "column 17: expected a name that is not taken, got 'x'");
    refused("f(Tensor(ab) x) -> ()", "column 10: expected the letter of an alias, got 'ab'");
    refused("f(Tensor(a?) x) -> ()", "column 11: expected '!' or ')', got '?'");
    refused("f(int[0] x) -> ()", "column 7: expected a length from 1 to 8, got '0'");
    refused("f(int[9999999999999999999999] x) -> ()",
            "column 7: expected a length from 1 to 8, got '9999999999999999999999'");
    refused("f(int[-1] x) -> ()", "column 7: expected ']', got '-1'");
    refused("f(float[] x) -> ()",
            "column 8: expected no list but Tensor[], Tensor?[], int[] or int[N], got '['");
    refused("f(int?[] x) -> ()",
            "column 7: expected no list but Tensor[], Tensor?[], int[] or int[N], got '['");
    refused("f(Tensor[2] x) -> ()", "column 10: expected ']', got '2'");
}

Test(schema, faults_in_defaults) {
    refused("f(int x=1.5) -> ()", "column 9: expected an integer, got '1.5'");
    refused("f(int x=None) -> ()", "column 9: expected an integer, got 'None'");
    refused("f(int x=1a) -> ()", "column 10: expected ',' or ')', got 'a'");
    refused("f(int x=) -> ()", "column 9: expected an integer, got ')'");
    refused("f(int x=9223372036854775808) -> ()",
            "column 9: expected an integer of 64 bits, got '9223372036854775808'");
    refused("f(float x=1e999) -> ()",
            "column 11: expected a number that a double holds, or inf, got '1e999'");
    refused("f(float x=1e) -> ()", "column 11: expected a number, got '1'");
    refused("f(float x=0x10) -> ()", "column 12: expected ',' or ')', got 'x10'");
    refused("f(float x=infinity) -> ()", "column 11: expected a number, got 'infinity'");
    refused("f(bool x=true) -> ()", "column 10: expected True or False, got 'true'");
    refused("f(int[] x=1) -> ()", "column 11: expected '[', got '1'");
    refused("f(int[] x=[1,) -> ()", "column 14: expected an integer, got ')'");
    refused("f(int[] x=[1 2]) -> ()", "column 14: expected ',' or ']', got '2'");
    refused("f(Tensor x=None) -> ()", "column 12: expected no default unless None for a Tensor?, got 'None'");
    refused("f(Tensor? x=1) -> ()", "column 13: expected None, got '1'");
    refused("f(str x=none) -> ()", "column 9: expected a string in quotes, got 'none'");
    refused("f(str x='none) -> ()", "column 21: expected the string to end, got the end");
    refused("f(ScalarType x=float8) -> ()",
            "column 16: expected a dtype such as float32 or int64, got 'float8'");
    refused("f(int x=1, int y) -> ()",
            "column 12: expected an argument with a default, since the one before it has one, got 'int'");
}

Test(schema, faults_in_the_whole) {
    refused("f", "column 2: expected '(', got the end");
    refused("f(Tensor x", "column 11: expected ',' or ')', got the end");
    refused("f(Tensor x)", "column 12: expected '->', got the end");
    refused("f(Tensor x) -> ",
            "column 16: expected a type (Tensor, Scalar, int, float, bool, str or ScalarType), "
            "got the end");
    refused("f() -> () x", "column 11: expected the end, got 'x'");
    refused("f() -> (int a, int a)", "column 20: expected a name that is not taken, got 'a'");
    refused("f(int x, *) -> ()", "column 11: expected ',' and a keyword argument, got ')'");
    refused("f(Tensor x) -> Tensor(a)",
            "column 16: expected a result whose alias letter stands at an argument, got 'Tensor'");
    refused("f(\n) -> ()", "column 3: expected a type (Tensor, Scalar, int, float, bool, str or ScalarType), "
                           "got byte 0x0a");
}

/* "f(int p0, int p1, ...) -> ()" */
static const char *with_arguments(int n) {
    static char text[512];
    size_t length = (size_t)snprintf(text, sizeof text, "f(");
    for (int i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%sint p%d", i ? ", " : "", i);
    snprintf(text + length, sizeof text - length, ") -> ()");
    return text;
}

Test(schema, limits_hold) {
    sh_schema *s = parsed(with_arguments(SH_MAX_ARGS));
    cr_expect(eq(u8, s->nparams, SH_MAX_ARGS));
    sh_schema_free(s);
    refused(with_arguments(SH_MAX_ARGS + 1), "expected at most 16 arguments, got 'int'");
    sh_schema_free(parsed("f() -> (int, int, int, int)"));
    refused("f() -> (int, int, int, int, int)", "column 29: expected at most 4 results, got 'int'");
}

Test(schema, defaults_have_room_however_many) {
    char text[512] = "f(";
    for (int i = 0; i < SH_MAX_ARGS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sint[8] a%d=%d", i ? "," : "", i, i);
    sh_schema *s = parsed(strcat(text, ")->Tensor"));
    for (int i = 0; i < SH_MAX_ARGS; i++)
        cr_expect(sh_value_equal(s->params[i].value, sh_value_ints(SH_SIZES(i, i, i, i, i, i, i, i))));
    sh_schema_free(s);
}

Test(schema, a_message_shows_the_beginning_of_the_line_up_to_what_cannot_be_shown) {
    sh_schema *s;
    cr_expect(eq(int, (int)sh_schema_parse("ff(\033[31m) -> ()", &s), SH_ERROR_SCHEMA));
    cr_assert(sh_error() != NULL);
    cr_expect(strstr(sh_error()->message, "schema \"ff(...\", column 4") == sh_error()->message, "%s",
              sh_error()->message);
    cr_expect(strchr(sh_error()->message, '\033') == NULL);
    sh_clear_error();
}

Test(schema, no_text_and_no_memory_are_errors) {
    sh_schema *s = NULL;
    cr_expect(eq(int, (int)sh_schema_parse(NULL, &s), SH_ERROR_NULL));
    sh_clear_error();
    sh_memory_fail_after(1);
    cr_expect(eq(int, (int)sh_schema_parse("f() -> ()", &s), SH_ERROR_MEMORY));
    sh_memory_fail_after(0);
    cr_expect(s == NULL);
    sh_clear_error();
}
