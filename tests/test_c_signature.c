/* test_c_signature.c - C signatures as text: what is read, and where what is not stands. */
#include "dispatch/ffi/signature.h"
#include "tests/fail_each.h"
#include "tests/modes.h"

TestSuite(c_signature, .timeout = 60);

static bool refused_at(const char *text, const char *part) {
    cr_assert(eq(ptr, sh__signature_parse(text), NULL), "%s", text);
    return failed_with(SH_ERROR_SIGNATURE, part);
}

static sh_signature *read(const char *text) {
    sh_signature *s = sh__signature_parse(text);
    cr_assert(ne(ptr, s, NULL), "%s: %s", text, sh_error() ? sh_error()->message : "");
    return s;
}

Test(c_signature, arrays_have_their_dimensions_and_const) {
    sh_signature *s = read("int f(const double a[m][k], double c[restrict 2][n], int m)");
    cr_assert(eq(uint, s->nparams, 3));
    cr_assert(eq(int, s->returns.type, SH_C_I32));
    cr_assert(eq(int, s->items[0].rank, 2));
    cr_assert(s->items[0].constant && !s->items[1].constant);
    cr_assert(eq(int, s->items[1].dims[0].name, SH_DIM_FIXED));
    cr_assert(eq(i64, s->items[1].dims[0].size, 2));
    cr_assert(sh__cword_is(s->dims[s->items[0].dims[1].name], "k"));
    cr_assert(eq(uint, s->ndims, 3));
    sh__signature_free(s);
}

Test(c_signature, words_of_types_come_in_any_order) {
    static const struct {
        const char *text;
        sh_ctype type;
    } all[] = {{"unsigned long long int", SH_C_U64},
               {"long unsigned", SH_C_U64},
               {"short", SH_C_I16},
               {"int unsigned short", SH_C_U16},
               {"signed", SH_C_I32},
               {"char", SH_C_CHAR},
               {"unsigned char", SH_C_U8},
               {"char signed", SH_C_I8},
               {"long double", SH_C_LONG_DOUBLE},
               {"double long", SH_C_LONG_DOUBLE},
               {"size_t", SH_C_U64},
               {"_Bool", SH_C_BOOL},
               {"long", SH_C_I64},
               {"uint8_t const", SH_C_U8},
               {"const float", SH_C_F32}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[80];
        snprintf(text, sizeof text, "void(%s x)", all[i].text);
        sh_signature *s = read(text);
        cr_assert(eq(int, s->items[0].type, all[i].type), "%s", all[i].text);
        sh__signature_free(s);
    }
    cr_assert(refused_at("void(long short x)", "column 6: expected a type of C"));
    cr_assert(refused_at("void(unsigned float x)", "column 6: expected a type of C"));
    cr_assert(refused_at("void(long long long x)", "column 6"));
    cr_assert(refused_at("void(char int x)", "column 6"));
    cr_assert(refused_at("void(signed unsigned x)", "column 6"));
}

Test(c_signature, a_pointer_to_a_function_is_read_too) {
    sh__signature_free(read("float (*)(float, float)"));
    sh__signature_free(read("float (*f)(float x);"));
    sh__signature_free(read("void(void)"));
    sh__signature_free(read("void()"));
    sh__signature_free(read(" void\n(\tint\n n ) ; "));
    sh__signature_free(read("sh_tensor *(const sh_tensor *x, sh_tensor *const list[n], int n)"));
}

struct example {
    char a;
    struct {
        short b;
        long double c;
    } d;
    float e;
};

Test(c_signature, structs_lie_as_the_compiler_lays_them_out) {
    sh_signature *s = read("void(struct {char a; struct {short b; long double c;} d; float e;} s)");
    const sh_citem *item = &s->items[0], *a = &s->items[item->fields], *d = &s->items[a->next],
                   *e = &s->items[d->next];
    cr_assert(eq(sz, item->size, sizeof(struct example)));
    cr_assert(eq(sz, d->offset, offsetof(struct example, d)));
    cr_assert(eq(sz, e->offset, offsetof(struct example, e)));
    cr_assert(eq(int, e->next, 0));
    sh__signature_free(s);
}

Test(c_signature, an_error_says_where_and_what_was_expected) {
    cr_assert(refused_at("", "column 1: expected a type of C"));
    cr_assert(refused_at("void", "column 5: expected '(', got the end"));
    cr_assert(refused_at("void(float x[n)", "column 15: expected a name, a number or ']', got ')'"));
    cr_assert(
        refused_at("void(float x[n], float x[n])", "column 24: expected a name that no other parameter has"));
    cr_assert(
        refused_at("void(flot x)", "column 6: expected a type of C or a struct that was named, got 'flot'"));
    cr_assert(refused_at("void(float x) y", "column 15: expected the end"));
    cr_assert(refused_at("void(float x", "expected ',' or ')', got the end"));
    cr_assert(refused_at("void(float ***x)", "two levels"));
    cr_assert(refused_at("void(float **x)", "one level of pointer"));
    cr_assert(refused_at("void(void x)", "not void"));
    cr_assert(refused_at("void(struct {} s)", "a struct with fields"));
    cr_assert(refused_at("void(struct {float x[3];} s)", "no array"));
    cr_assert(refused_at("void(struct {float x;} *s)", "a struct by value"));
    cr_assert(refused_at("void(sh_tensor x)", "a tensor has no value"));
    cr_assert(refused_at("float *(float x)", "a number to be returned"));
    cr_assert(refused_at("float complex(float x)", "a real number"));
    cr_assert(refused_at("void(float x[99999999999999999999])", "a smaller number"));
    cr_assert(refused_at("void(float x[1][1][1][1][1][1][1][1][1])", "at most 8 dimensions"));
    cr_assert(refused_at("struct {int a;}(int x)", "no struct to be returned"));
    cr_assert(refused_at("void(float \x01)", "byte 0x01"));
}

Test(c_signature, limits_are_errors) {
    char text[5000] = "void(int a0";
    for (int i = 1; i < 30; i++) snprintf(text + strlen(text), 20, ", int a%d", i);
    strcat(text, ")");
    cr_assert(refused_at(text, "at most 24 parameters"));
    strcpy(text, "void(struct {int a0");
    for (int i = 1; i < 50; i++) snprintf(text + strlen(text), 20, ", a%d", i);
    strcat(text, ";} s)");
    cr_assert(refused_at(text, "fewer fields"));
    strcpy(text, "void(");
    for (int i = 0; i < 20; i++) strcat(text, "struct {");
    cr_assert(refused_at(text, "nest less deep"));
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert(refused_at(text, "the most is 4000"));
    memcpy(text, "void(int ", 9);
    memcpy(text + 200, ")", 2);
    cr_assert(refused_at(text, "at most 63 letters"));
    cr_assert(eq(ptr, sh__signature_parse(NULL), NULL));
    cr_assert(failed_with(SH_ERROR_NULL, "NULL"));
}

static bool parses(void) {
    sh_signature *s = sh__signature_parse("void(const float x[n], struct {int a;} s)");
    sh__signature_free(s);
    return s != NULL;
}

Test(c_signature, every_allocation_may_fail) { fail_each("a signature", parses); }
