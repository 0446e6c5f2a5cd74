/* test_hostile.c - files made to hurt: each is read by a process of its own, which must end with a clear error, or with
 * what the file holds, in 5 seconds and in 64 MiB and 8 times the file. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zip.h>

#include "graph/ir/ir.h"
#include "graph/onnx/onnx.h"
#include "modes/spec.h"
#include "ops/io/io.h"
#include "tests/modes.h"

enum { SECONDS = 5, BASE = 64 << 20, FACTOR = 8, SLOWER_SANITIZED = 10 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

TestSuite(hostile, .timeout = 2 * SECONDS * SLOWER_SANITIZED);

/* ---- reading in a process of its own ---- */

static bool read_npy(const void *bytes, size_t size) { return sh_parse_npy(bytes, size, "it") != NULL; }

static bool read_npz(const void *bytes, size_t size) {
    sh_dict *dict;
    const bool read = sh_parse_npz(bytes, size, "it", &dict) >= 0;
    sh_dict_free(dict);
    return read;
}

static bool read_safetensors(const void *bytes, size_t size) {
    sh_dict *dict;
    const bool read = sh_parse_safetensors(bytes, size, "it", &dict) >= 0;
    sh_dict_free(dict);
    return read;
}

static bool read_onnx(const void *bytes, size_t size) {
    sh_graph *graph = sh_parse_onnx(bytes, size, "it");
    sh_graph_free(graph);
    return graph != NULL;
}

static bool read_text(const void *bytes, size_t size) {
    sh_graph *graph = sh_graph_parse(bytes, size, "it");
    sh_graph_free(graph);
    return graph != NULL;
}

/* 0: as expected. `words` of the error, or NULL: it is read. */
static int judge(bool (*read)(const void *, size_t), const uint8_t *bytes, size_t size, const char *words) {
    const bool got = read(bytes, size);
    const sh_error_info *error = sh_error();
    if (got != !error || got != !words) fprintf(stderr, "%s\n", error ? error->message : "it is read");
    if (got || !words) return got != !words;
    if (strstr(error->message, words)) return 0;
    fprintf(stderr, "wanted: %s\ngot: %s\n", words, error->message);
    return 1;
}

static void check(bool (*read)(const void *, size_t), const uint8_t *bytes, size_t size, const char *words) {
    struct rusage usage;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        alarm(SANITIZED ? SECONDS * SLOWER_SANITIZED : SECONDS);
        _exit(judge(read, bytes, size, words));
    }
    cr_assert(eq(int, wait4(child, &status, 0, &usage), child));
    const bool ended = WIFEXITED(status);
    cr_expect(ended, "signal %d", WTERMSIG(status));
    cr_expect(eq(int, WEXITSTATUS(status), 0));
    const long limit = (BASE + FACTOR * (long)size) / 1024;
    if (!SANITIZED) cr_expect(le(long, usage.ru_maxrss, limit));
}

/* ---- bytes ---- */

typedef struct buffer {
    uint8_t *at;
    size_t n, capacity;
} buffer;

static void put(buffer *b, const void *bytes, size_t n) {
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n);
        b->at = realloc(b->at, b->capacity);
        cr_assert(ne(ptr, b->at, NULL));
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

static void put_text(buffer *b, const char *text) { put(b, text, strlen(text)); }

static void put_often(buffer *b, const char *text, size_t times) {
    for (size_t i = 0; i < times; i++) put_text(b, text);
}

static void put_number(buffer *b, uint64_t value, size_t n) { put(b, &value, n); }

static void check_and_free(bool (*read)(const void *, size_t), buffer *b, const char *words) {
    uint8_t *exact = malloc(b->n);
    memcpy(exact, b->at, b->n);
    free(b->at);
    check(read, exact, b->n, words);
    free(exact);
    *b = (buffer){0};
}

/* ---- .npy ---- */

Test(hostile, npy_headers_as_large_as_the_file) {
    static const char *const fillers[] = {" ", "9", "(", "'descr': '<f4', "};
    static const char *const words[] = {"'' where {", "'999999999999' where {", "'((((((((((((' where {",
                                        "where {"};
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        buffer b = {0};
        const size_t times = (16 << 20) / strlen(fillers[i]);
        put(&b, "\x93NUMPY\x02\x00", 8);
        put_number(&b, times * strlen(fillers[i]), 4);
        put_often(&b, fillers[i], times);
        check_and_free(read_npy, &b, words[i]);
    }
}

Test(hostile, npy_sizes_of_many_digits_and_many_sizes) {
    buffer b = {0};
    put(&b, "\x93NUMPY\x02\x00", 8);
    put_number(&b, 8 << 20, 4);
    put_text(&b, "{'shape': (");
    put_often(&b, "1", 4 << 20);
    put_often(&b, ",", (8 << 20) + 12 - b.n);
    check_and_free(read_npy, &b, "below 2^63");
    put(&b, "\x93NUMPY\x02\x00", 8);
    put_number(&b, 8 << 20, 4);
    put_text(&b, "{'shape': (");
    put_often(&b, "1,", 4 << 20);
    check_and_free(read_npy, &b, "more than 8 dimensions");
}

Test(hostile, a_large_npy_takes_its_own_size_once_more) {
    buffer b = {0};
    put(&b, "\x93NUMPY\x01\x00", 8);
    put_number(&b, 64, 2);
    put_text(&b, "{'descr':'|u1','fortran_order':False,'shape':(33554432,)}       ");
    cr_assert(eq(sz, b.n, 74));
    put_often(&b, "12345678", 33554432 / 8);
    check_and_free(read_npy, &b, NULL);
}

/* ---- .safetensors ---- */

static void safetensors(buffer *b, const char *text, size_t times, const char *last, const char *words) {
    put_number(b, 0, 8);
    put_text(b, "{");
    put_often(b, text, times);
    put_text(b, last);
    put_text(b, "}");
    const uint64_t length = b->n - 8;
    memcpy(b->at, &length, 8);
    check_and_free(read_safetensors, b, words);
}

Test(hostile, safetensors_headers_that_unpack_to_much_more) {
    buffer b = {0};
    safetensors(&b, "\"a\":[],", 1 << 20, "\"b\":1", "out of proportion");
    safetensors(&b, "\"a\":{},", 1 << 20, "\"b\":1", "out of proportion");
    safetensors(&b, "\"a\":[[", 1 << 20, "", "out of proportion");
    safetensors(&b, "\"a\":[{},{},{},{},", 1 << 18, "", "out of proportion");
    safetensors(&b, "1,", 4 << 20, "", "out of proportion");
    safetensors(&b, "\"a\":{", 4000, "", "maximum parsing depth");
}

Test(hostile, safetensors_strings_as_large_as_the_file) {
    buffer b = {0};
    put_number(&b, 0, 8);
    put_text(&b, "{\"");
    put_often(&b, "\\u00e9", 2 << 20);
    put_text(&b, "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    const uint64_t length = b.n - 8;
    memcpy(b.at, &length, 8);
    check_and_free(read_safetensors, &b, NULL);
    safetensors(&b, "\"aaaaaaaa", 2 << 20, "", "no JSON object");
}

/* In time that grows with the file, not with its square. */
Test(hostile, safetensors_of_many_tensors) {
    buffer b = {0};
    const size_t counts[] = {12000, 400000};
    for (size_t k = 0; k < 2; k++) {
        put_number(&b, 0, 8);
        for (size_t i = 0; i < counts[k]; i++) {
            char entry[128];
            snprintf(entry, sizeof entry,
                     "%c\"t%zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? ',' : '{', i);
            put_text(&b, entry);
        }
        put_text(&b, "}");
        const uint64_t length = b.n - 8;
        memcpy(b.at, &length, 8);
        check_and_free(read_safetensors, &b, k ? "out of proportion" : NULL);
    }
}

/* ---- .npz ---- */

/* An entry of the directory for a stored file of no bytes whose header is at 0. */
static void put_entry(buffer *b, unsigned number, size_t extra) {
    char name[16];
    snprintf(name, sizeof name, "%06u", number);
    put(b, "PK\1\2\24\0\24\0\0\0\0\0\0\0\41\0", 16);
    put_number(b, 0, 8);
    put_number(b, 0, 4);
    put_number(b, 6, 2);
    put_number(b, extra, 2);
    put_number(b, 0, 8);
    put_number(b, 0, 4);
    put_number(b, 0, 2);
    put(b, name, 6);
    for (size_t i = 0; i < extra; i += 4) put_number(b, 0x7777, 4); /* fields of no bytes */
}

static void put_end(buffer *b, size_t entries, size_t directory, size_t comment) {
    put(b, "PK\5\6\0\0\0\0", 8);
    put_number(b, entries, 2);
    put_number(b, entries, 2);
    put_number(b, directory, 4);
    put_number(b, 0, 4);
    put_number(b, comment, 2);
}

Test(hostile, npz_of_many_entries) {
    buffer b = {0};
    for (unsigned i = 0; i < 65535; i++) put_entry(&b, i, 0);
    put_end(&b, 65535, b.n, 0);
    check_and_free(read_npz, &b, NULL);
}

Test(hostile, npz_with_thousands_of_end_records) {
    buffer b = {0};
    for (unsigned i = 0; i < 65535; i++) put_entry(&b, i, 0);
    const size_t directory = b.n;
    for (size_t i = 2900; i-- > 0;) put_end(&b, 65535, directory, 22 * i);
    check_and_free(read_npz, &b, "several end records");
}

Test(hostile, npz_with_a_directory_of_small_fields) {
    buffer b = {0};
    for (unsigned i = 0; i < 400; i++) put_entry(&b, i, 65532);
    put_end(&b, 400, b.n, 0);
    check_and_free(read_npz, &b, "out of proportion");
}

Test(hostile, npz_that_promises_more_entries_than_it_has_room_for) {
    buffer b = {0};
    put_entry(&b, 1, 0);
    const size_t directory = b.n;
    put(&b, "PK\6\6\54\0\0\0\0\0\0\0\55\0\55\0\0\0\0\0\0\0\0\0", 24);
    put_number(&b, 1 << 30, 8);
    put_number(&b, 1 << 30, 8);
    put_number(&b, directory, 8);
    put_number(&b, 0, 8);
    put(&b, "PK\6\7\0\0\0\0", 8);
    put_number(&b, directory, 8);
    put_number(&b, 1, 4);
    put_end(&b, 0xffff, 0xffffffff, 0);
    check_and_free(read_npz, &b, "no room for");
}

/* An archive of one deflated array of zeros. */
static buffer deflated_zeros(size_t size) {
    char text[80], path[] = "/tmp/shunt-hostile-XXXXXX";
    buffer npy = {0}, packed = {0};
    snprintf(text, sizeof text, "{'descr':'|u1','fortran_order':False,'shape':(%zu,)}", size);
    put(&npy, "\x93NUMPY\x01\x00", 8);
    put_number(&npy, strlen(text), 2);
    put_text(&npy, text);
    npy.at = realloc(npy.at, npy.n + size);
    memset(npy.at + npy.n, 0, size);
    const int descriptor = mkstemp(path);
    cr_assert(ge(int, descriptor, 0));
    zip_t *archive = zip_open(path, ZIP_TRUNCATE, NULL);
    zip_source_t *source = zip_source_buffer(archive, npy.at, npy.n + size, 0);
    cr_assert(eq(i64, zip_file_add(archive, "zeros.npy", source, 0), 0));
    cr_assert(eq(int, zip_close(archive), 0));
    free(npy.at);
    FILE *file = fopen(path, "rb");
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) put(&packed, block, n);
    fclose(file);
    close(descriptor);
    unlink(path);
    return packed;
}

Test(hostile, npz_bombs_are_refused_before_they_are_unpacked) {
    buffer b = deflated_zeros(32 << 20);
    check_and_free(read_npz, &b, NULL);
    b = deflated_zeros(64 << 20);
    check_and_free(read_npz, &b, "out of proportion");
}

/* ---- .onnx ---- */

/* `inner` as field `number` of a message, by length. */
static buffer wrapped(buffer inner, int number) {
    buffer outer = {0};
    put_number(&outer, (uint64_t)number << 3 | 2, 1);
    size_t left = inner.n;
    for (; left >= 128; left >>= 7) put_number(&outer, left | 128, 1);
    put_number(&outer, left, 1);
    put(&outer, inner.at, inner.n);
    free(inner.at);
    return outer;
}

/* Field `field` of the graph's field `part`, 2 MiB of `text`. */
static void onnx(int part, int field, const char *text) {
    buffer b = {0}, model = {0};
    put_often(&b, text, (2 << 20) / strlen(text));
    if (field) b = wrapped(b, field);
    if (part) b = wrapped(b, part);
    b = wrapped(b, 7);
    put(&model, "\x42\x02\x10\x0d", 4); /* opset 13 */
    put(&model, b.at, b.n);
    free(b.at);
    check_and_free(read_onnx, &model, "it");
}

Test(hostile, onnx_of_one_repeated_thing) {
    onnx(5, 7, "\1");                  /* an initializer's int64_data, a byte a value */
    onnx(5, 1, "\1");                  /* its dims */
    onnx(5, 4, "1234");                /* its float_data */
    onnx(5, 9, "raw ");                /* its raw_data */
    onnx(5, 0, "\x38\1");              /* its int64_data, one by one */
    onnx(5, 0, "\x32\1a");             /* its string_data */
    onnx(1, 0, "\x0a\1a");             /* a node's inputs */
    onnx(1, 0, "\x12\1a");             /* its outputs */
    onnx(1, 0, "\x2a\3\x0a\1a");       /* its attributes */
    onnx(0, 0, "\x5a\3\x0a\1a");       /* inputs of one name */
    onnx(0, 0, "\x62\3\x0a\1a");       /* outputs that nothing makes */
    onnx(0, 0, "\x0a\6\x22\4Relu");    /* nodes without inputs */
    onnx(0, 0, "\x2a\6\x42\1a\x10\1"); /* initializers of one name */
}

/* Each node has a name of its own: the time grows with their number, not with its square. */
Test(hostile, onnx_of_many_nodes) {
    buffer graph = {0}, model = {0};
    for (int i = 0; i < 30000; i++) {
        buffer node = {0};
        char in[16], out[16];
        const size_t n = (size_t)snprintf(in, sizeof in, "v%d", i),
                     m = (size_t)snprintf(out, sizeof out, "v%d", i + 1);
        put_number(&node, 0x0a | n << 8, 2);
        put(&node, in, n);
        put_number(&node, 0x12 | m << 8, 2);
        put(&node, out, m);
        put(&node, "\x22\4Relu", 6);
        node = wrapped(node, 1);
        put(&graph, node.at, node.n);
        free(node.at);
    }
    put(&graph, "\x5a\4\x0a\2v0\x62\10\x0a\6v30000", 16);
    graph = wrapped(graph, 7);
    put(&model, "\x42\x02\x10\x0d", 4);
    put(&model, graph.at, graph.n);
    free(graph.at);
    check_and_free(read_onnx, &model, NULL);
}

/* ---- mode specifications ---- */

static bool explain(const void *bytes, size_t size) {
    char *text = NULL;
    (void)size;
    const bool read = sh_mode_explain(bytes, &text) >= 0;
    free(text);
    return read;
}

Test(hostile, specifications_of_one_repeated_thing) {
    static const char *const cases[][2] = {
        {"log;", "too many modes"},        {"[", "there is no mode '[["},
        {"log:ops=[", "no ] closes this"}, {"log:ops=a;", "too many modes"},
        {"x", "there is no mode 'xxx"},    {" ", "a mode's name is missing here"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer b = {0};
        put_often(&b, cases[i][0], 65000 / strlen(cases[i][0]));
        put_number(&b, 0, 1);
        check_and_free(explain, &b, cases[i][1]);
    }
    buffer b = {0};
    put_often(&b, "log;", 1 << 20);
    put_number(&b, 0, 1);
    check_and_free(explain, &b, "characters is too long");
}

/* ---- what is no file ---- */

static bool says(const char *words) {
    const bool right = sh_error() && strstr(sh_error()->message, words);
    sh_clear_error();
    return right;
}

static void check_path(const char *path, const char *words) {
    sh_dict *dict;
    cr_expect(sh_load_npy(path) == NULL && says(words), "%s", path);
    cr_expect(sh_load_npz(path, &dict) < 0 && says(words), "%s", path);
    cr_expect(sh_load_safetensors(path, &dict) < 0 && says(words), "%s", path);
    cr_expect(sh_load_onnx(path) == NULL && says(words), "%s", path);
    cr_expect(sh_load_onnx_tensor(path) == NULL && says(words), "%s", path);
}

Test(hostile, pipes_folders_and_devices_are_refused_at_once) {
    char folder[] = "/tmp/shunt-hostile-XXXXXX", pipe[64];
    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    cr_assert(eq(int, mkfifo(pipe, 0600), 0));
    check_path(pipe, "is no regular file");
    check_path(folder, "is no regular file");
    check_path("/dev/zero", "is no regular file");
    unlink(pipe);
    rmdir(folder);
}

/* A file of sysfs says that it is 4096 bytes long. */
Test(hostile, a_file_that_is_shorter_than_it_says_is_refused) {
    const char *path = "/sys/devices/system/cpu/online";
    if (access(path, R_OK) == 0) check_path(path, "became shorter while it was read");
}

/* ---- texts of graphs ---- */

/* `times` copies of a piece between a beginning and an end. */
static void check_text(const char *begin, const char *piece, size_t times, const char *end,
                       const char *words) {
    buffer b = {0};
    put_text(&b, "shunt-ir 1\ngraph():\n");
    put_text(&b, begin);
    put_often(&b, piece, times);
    put_text(&b, end);
    check_and_free(read_text, &b, words);
}

Test(hostile, texts_that_nest_or_never_end) {
    static const char output[] = "return ";
    check_text(output, "[", 8 << 20, "", "it:3:72: lists nest deeper than 64");
    check_text(output, "(", 8 << 20, "", "lists nest deeper than 64");
    check_text("return '", "a", 8 << 20, "", "the string has no end on its line");
    check_text(output, "a", 8 << 20, "", "is not defined above");
    check_text(output, "9", 8 << 20, "", "expected an argument");
    check_text("", "\n", 8 << 20, "", NULL);
    check_text("#", "x", 8 << 20, "", NULL);
}

Test(hostile, texts_that_ask_for_much) {
    static const char too_much[] = "out of proportion to its size";
    check_text("return [", "1,", 8 << 20, "]", too_much);
    check_text("return [", "[],", 6 << 20, "]", too_much);
    check_text("return [", "'',", 6 << 20, "]", too_much);
    check_text("", "%_=get_attr[target=a]\n", 1 << 19, "", "two nodes have the name %_");
    check_text("attr x : f32[", "9,", 1000, "]", "more than 8 dimensions");
    check_text("attr x : f32[99999999999,9999999]\n", "", 0, "", NULL);
    check_text("%x = placeholder[target=x], meta = {", "a:1,", 1 << 20, "}", "is given twice");
}

/* Each module holds the one before it, `times` times over. */
static void put_modules(buffer *b, size_t n, int times) {
    char line[96];
    put_text(b, "shunt-ir 1\nmodule : GraphModule()\nmodule m0 : Module()\n");
    for (size_t i = 1; i < n; i++) {
        snprintf(line, sizeof line, "module m%zu : Module()\n", i);
        put_text(b, line);
        for (int k = 0; k < times; k++) {
            snprintf(line, sizeof line, "module m%zu.c%d = m%zu\n", i, k, i - 1);
            put_text(b, line);
        }
    }
}

Test(hostile, texts_whose_modules_hang_in_each_other) {
    buffer b = {0};
    put_modules(&b, 1 << 16, 1);
    check_and_free(read_text, &b, "modules nest deeper than 64");
    put_modules(&b, 60, 2);
    check_and_free(read_text, &b, "modules hang at more than");
    put_text(&b, "shunt-ir 1\nmodule : GraphModule()\nmodule a : Module()\nmodule b = a\nmodule b.c = b\n");
    check_and_free(read_text, &b, "hangs at several paths");
}

static void put_nodes(buffer *b, size_t n) {
    char line[64];
    for (size_t i = 0; i < n; i++) {
        snprintf(line, sizeof line, "%%x%zx=get_attr[target=y%zx]\n", i, i);
        put_text(b, line);
    }
}

Test(hostile, texts_of_many_short_nodes) {
    buffer b = {0};
    put_text(&b, "shunt-ir 1\ngraph():\n");
    put_nodes(&b, 1 << 16);
    check_and_free(read_text, &b, NULL);
    put_text(&b, "shunt-ir 1\ngraph():\n");
    put_nodes(&b, 1 << 18);
    check_and_free(read_text, &b, "out of proportion to its size");
}
