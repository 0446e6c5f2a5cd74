/* test_io.c - files: what is written comes back bit for bit, NumPy's layouts are read, damage is refused. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"
#include "ops/io/safetensors.h"
#include "tests/folder.h"
#include "tests/modes.h"

TestSuite(io, .init = make_folder, .fini = drop_folder);

static sh_tensor *counting(sh_dtype dtype, sh_ints sizes) {
    sh_tensor *t = sh_tensor_new(dtype, sizes);
    unsigned char *at = sh_tensor_data(t);
    const size_t n = (size_t)sh_tensor_numel(t) * sh_dtype_size(dtype);
    for (size_t i = 0; i < n; i++) at[i] = dtype == SH_B8 ? i % 2 : (unsigned char)(i * 37 + 1) & 0x3f;
    return t;
}

static bool same(const sh_tensor *a, const sh_tensor *b) {
    if (!a || !b || sh_tensor_dtype(a) != sh_tensor_dtype(b) || sh_tensor_ndim(a) != sh_tensor_ndim(b))
        return false;
    for (int i = 0; i < sh_tensor_ndim(a); i++)
        if (sh_tensor_sizes(a)[i] != sh_tensor_sizes(b)[i]) return false;
    return memcmp(sh_tensor_data(a), sh_tensor_data(b),
                  (size_t)sh_tensor_numel(a) * sh_dtype_size(sh_tensor_dtype(a))) == 0;
}

static sh_ints shapes(int i) {
    static const int64_t one[] = {5}, empty[] = {2, 0, 3}, three[] = {2, 3, 4};
    const sh_ints all[] = {{one, 0}, {one, 1}, {empty, 3}, {three, 3}};
    return all[i];
}

Test(io, npy_gives_back_every_dtype_and_rank) {
    for (sh_dtype d = SH_F32; d < SH_REAL_DTYPE_END; d++)
        for (int i = 0; i < 4; i++) {
            if (d == SH_BF16) continue;
            sh_tensor *t = counting(d, shapes(i));
            cr_assert(eq(int, sh_save_npy(in_folder("a.npy"), t), SH_OK));
            cr_assert(same(sh_load_npy(in_folder("a.npy")), t), "%s", sh_dtype_name(d));
        }
}

Test(io, archives_give_back_names_order_and_bits) {
    sh_dict *d = sh_dict_new(), *back = NULL;
    for (sh_dtype t = SH_F32; t < SH_REAL_DTYPE_END; t++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%s", sh_dtype_name(t));
        cr_assert(eq(int, sh_dict_set(d, name, counting(t, shapes(t % 4))), SH_OK));
    }
    cr_assert(eq(int, sh_save_safetensors(in_folder("a.safetensors"), d), SH_OK));
    cr_assert(eq(int, sh_load_safetensors(in_folder("a.safetensors"), &back), SH_OK));
    cr_assert(eq(sz, sh_dict_size(back), sh_dict_size(d)));
    for (size_t i = 0; i < sh_dict_size(d); i++)
        cr_assert(same(sh_dict_find(back, sh_dict_name(d, i)), sh_dict_at(d, i)), "%s", sh_dict_name(d, i));
    sh_dict_free(back);
    sh_dict_free(d);
    d = sh_dict_new();
    sh_dict_set(d, "x", counting(SH_F32, SH_SIZES(100)));
    sh_dict_set(d, "folder/y", counting(SH_I64, SH_SIZES(2, 2)));
    sh_dict_set(d, "\u00e9", counting(SH_I64, SH_SIZES(2)));
    cr_assert(eq(int, sh_save_npz(in_folder("a.npz"), d), SH_OK));
    cr_assert(eq(int, sh_load_npz(in_folder("a.npz"), &back), SH_OK));
    cr_assert(eq(str, TEXT(sh_dict_name(back, 1)), "folder/y"));
    cr_assert(same(sh_dict_at(back, 0), sh_dict_at(d, 0)));
    cr_assert(same(sh_dict_at(back, 1), sh_dict_at(d, 1)));
    cr_assert(same(sh_dict_find(back, "\u00e9"), sh_dict_at(d, 2)));
    sh_dict_free(back);
    sh_dict_free(d);
}

Test(io, archives_of_nothing_come_back_empty) {
    sh_dict *nothing = sh_dict_new(), *back = NULL;
    cr_assert(eq(int, sh_save_npz(in_folder("0.npz"), nothing), SH_OK));
    cr_assert(eq(int, sh_load_npz(in_folder("0.npz"), &back), SH_OK));
    cr_assert(eq(sz, sh_dict_size(back), 0));
    sh_dict_free(back);
    cr_assert(eq(int, sh_save_safetensors(in_folder("0.safetensors"), nothing), SH_OK));
    cr_assert(eq(int, sh_load_safetensors(in_folder("0.safetensors"), &back), SH_OK));
    cr_assert(eq(sz, sh_dict_size(back), 0));
    sh_dict_free(back);
    sh_dict_free(nothing);
}

static sh_tensor *npy(const char *header, const void *data, size_t size) {
    char bytes[512];
    const size_t n = strlen(header);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)n;
    bytes[9] = 0;
    memcpy(bytes + 10, header, n);
    memcpy(bytes + 10 + n, data, size);
    return sh_parse_npy(bytes, 10 + n + size, "test");
}

Test(io, fortran_order_and_big_endian_are_read) {
    const float data[6] = {1, 2, 3, 4, 5, 6};
    sh_tensor *t = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", data, sizeof data);
    cr_assert(eq(dbl, sh_tensor_at(t, (const int64_t[]){0, 1}), 3));
    cr_assert(eq(dbl, sh_tensor_at(t, (const int64_t[]){1, 2}), 6));
    const unsigned char big[8] = {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
    t = npy("{'shape': (2,), 'fortran_order': False, 'descr': '>i4'}", big, sizeof big);
    cr_assert(eq(dbl, sh_tensor_at(t, (const int64_t[]){0}), 258));
    cr_assert(eq(dbl, sh_tensor_at(t, (const int64_t[]){1}), -2));
}

Test(io, a_damaged_header_says_what_was_expected) {
    const float data[6] = {0};
    static const struct {
        const char *header, *words;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", "needs 32 bytes, the file has 24"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", "a dtype that shunt has"},
        {"{'descr': '<f4\", 'fortran_order': False, 'shape': (6,)}", "a dtype that shunt has"},
        {"{'descr': 'xf4', 'fortran_order': False, 'shape': (6,)}", "a byte order"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (6,)}", "True or False"},
        {"{'descr': '<f4', 'shape': (6,)}", "lacks"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", "a size"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "below 2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904)}",
         "more than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", "the end"},
        {"", "{"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(eq(ptr, npy(cases[i].header, data, sizeof data), NULL));
        cr_assert(failed_with(SH_ERROR_FORMAT, cases[i].words));
    }
    cr_assert(eq(ptr, sh_parse_npy("no npy at all", 13, "test"), NULL));
    cr_assert(failed_with(SH_ERROR_FORMAT, "is no .npy file"));
}

static sh_status safetensors(const char *header, size_t data) {
    char bytes[1024] = {0};
    const uint64_t n = strlen(header);
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, n);
    sh_dict *d = NULL;
    const sh_status status = sh_parse_safetensors(bytes, 8 + n + data, "test", &d);
    sh_dict_free(d);
    return status;
}

/* Memory that notes where the last of it went. */
typedef struct noted {
    const char *at;
    const void *last;
    size_t n;
} noted;

static sh_status note_read(sh_source *source, void *to, size_t n) {
    noted *from = source->user;
    memcpy(to, from->at, n);
    *from = (noted){from->at + n, to, n};
    return SH_OK;
}

Test(io, what_is_read_of_a_tensor_goes_straight_into_it) {
    sh_dict *d = sh_dict_new(), *back = NULL;
    void *bytes;
    size_t size;
    sh_dict_set(d, "a", counting(SH_F64, shapes(3)));
    cr_assert(eq(int, sh_save_safetensors(in_folder("a.safetensors"), d), SH_OK));
    cr_assert(eq(int, sh_file_read(in_folder("a.safetensors"), &bytes, &size), SH_OK));
    noted from = {bytes, NULL, 0};
    sh_source source = {note_read, size, "it", &from};
    cr_assert(eq(int, sh__safetensors_read(&source, &back), SH_OK));
    cr_expect(eq(sz, source.left, 0));
    cr_expect(eq(ptr, (void *)(uintptr_t)from.last, sh_tensor_data(sh_dict_find(back, "a"))));
    cr_expect(eq(sz, from.n, 24 * sizeof(double)));
    sh__free(bytes);
    sh_dict_free(back);
    sh_dict_free(d);
}

Test(io, hostile_safetensors_are_refused) {
    cr_assert(
        eq(int, safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8), SH_OK));
    static const struct {
        const char *header;
        size_t data;
        const char *words;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 12, "the file has 12"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "disagree"},
        {"{\"a\":{\"dtype\":\"F7\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "F7"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "non-negative"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
         6, "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}", 8, "gap"},
        {"{\"a\":1}", 0, "dtype"},
        {"{\"\\u001b[2J\":1}", 0, "control characters"},
        {"{\"\xe9\":1}", 0, "unable to decode byte 0xe9"},
        {"[1]", 0, "no JSON object: it is another value"},
        {"{\"a\":", 0, "no JSON object"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(lt(int, safetensors(cases[i].header, cases[i].data), 0), "%s", cases[i].header);
        cr_assert(failed_with(SH_ERROR_FORMAT, cases[i].words));
    }
}

Test(io, a_byte_order_of_0_is_refused) {
    const char bytes[] =
        "\x93NUMPY\x01\x00\x35\x00{'descr':'\0f4','fortran_order':False,'shape':(1,)}       1234";
    cr_assert(eq(ptr, sh_parse_npy(bytes, sizeof bytes - 1, "test"), NULL));
    cr_assert(failed_with(SH_ERROR_FORMAT, "a byte order"));
}

Test(io, names_that_are_no_text_are_not_saved) {
    sh_dict *d = sh_dict_new();
    cr_assert(eq(int, sh_dict_set(d, "caf\xe9", number(1)), SH_OK));
    cr_assert(lt(int, sh_save_safetensors(in_folder("a.safetensors"), d), 0));
    cr_assert(failed_with(SH_ERROR_VALUE, "no text in UTF-8"));
    cr_assert(lt(int, sh_save_npz(in_folder("a.npz"), d), 0));
    cr_assert(failed_with(SH_ERROR_VALUE, "no text in UTF-8"));
    sh_dict_free(d);
}

/* ---- archives ---- */

/* The bytes of an archive with one array, x = [7, 7]. */
static size_t archive(unsigned char *bytes, size_t capacity) {
    sh_dict *d = sh_dict_new();
    cr_assert(eq(int, sh_dict_set(d, "x", number(7)), SH_OK));
    cr_assert(eq(int, sh_save_npz(in_folder("x.npz"), d), SH_OK));
    sh_dict_free(d);
    FILE *file = fopen(in_folder("x.npz"), "rb");
    const size_t n = fread(bytes, 1, capacity, file);
    fclose(file);
    return n;
}

static unsigned char *record(unsigned char *bytes, size_t n, const char *magic) {
    return memmem(bytes, n, magic, 4);
}

static bool archive_refused(const unsigned char *bytes, size_t n, sh_status code, const char *words) {
    sh_dict *d = NULL;
    return sh_parse_npz(bytes, n, "x.npz", &d) < 0 && !d && failed_with(code, words);
}

Test(io, a_changed_byte_in_an_archive_does_not_pass) {
    unsigned char bytes[2048];
    const size_t n = archive(bytes, sizeof bytes);
    unsigned char *directory = record(bytes, n, "PK\1\2");
    directory[-1] ^= 1; /* the last byte of the array */
    cr_assert(archive_refused(bytes, n, SH_ERROR_FORMAT, "x.npz: entry x.npy is damaged: CRC error"));
}

Test(io, what_an_archive_says_of_an_entry_is_checked) {
    static const struct {
        int place, value; /* in the entry of the directory */
        sh_status code;
        const char *words;
    } cases[] = {{10, 12, SH_ERROR_UNSUPPORTED, "compressed by method 12; stored and deflated are read"},
                 {22, 1, SH_ERROR_FORMAT, "shares its bytes with other entries"},
                 {27, 9, SH_ERROR_FORMAT, "out of proportion"},
                 {46, 127, SH_ERROR_FORMAT, "a name that is no text"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[2048];
        const size_t n = archive(bytes, sizeof bytes);
        record(bytes, n, "PK\1\2")[cases[i].place] = (unsigned char)cases[i].value;
        cr_expect(archive_refused(bytes, n, cases[i].code, cases[i].words), "%zu", i);
    }
}

Test(io, what_the_end_of_an_archive_says_is_checked) {
    static const struct {
        int place, value;
        const char *words;
    } cases[] = {{0, 'p', "no end record"}, {11, 1, "no room for"}, {15, 1, "no room for"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[2048];
        const size_t n = archive(bytes, sizeof bytes);
        record(bytes, n, "PK\5\6")[cases[i].place] = (unsigned char)cases[i].value;
        cr_expect(archive_refused(bytes, n, SH_ERROR_FORMAT, cases[i].words), "%zu", i);
    }
}

/* ---- memory ---- */

static bool load_all(void) {
    sh_dict *zipped = NULL, *plain = NULL;
    sh_tensor *t = sh_load_npy(in_folder("m.npy"));
    bool read = t && sh_load_npz(in_folder("m.npz"), &zipped) >= 0;
    read = read && sh_load_safetensors(in_folder("m.safetensors"), &plain) >= 0;
    sh_dict_free(zipped);
    sh_dict_free(plain);
    return read;
}

Test(io, each_failed_allocation_is_an_error_and_leaves_nothing) {
    sh_dict *d = sh_dict_new();
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        cr_assert(eq(int, sh_dict_set(d, name, counting(SH_F32, SH_SIZES(40))), SH_OK));
    }
    cr_assert(eq(int, sh_save_npy(in_folder("m.npy"), sh_dict_at(d, 0)), SH_OK));
    cr_assert(eq(int, sh_save_npz(in_folder("m.npz"), d), SH_OK));
    cr_assert(eq(int, sh_save_safetensors(in_folder("m.safetensors"), d), SH_OK));
    const int64_t live = sh_memory_stats_get().live_tensors;
    bool read = false;
    for (size_t n = 1; !read && n < 10000; n++) {
        sh_memory_fail_after(n);
        SH_SCOPE read = load_all();
        sh_memory_fail_after(0);
        if (!read) cr_assert(failed_with(SH_ERROR_MEMORY, ""), "allocation %zu", n);
        cr_assert(eq(i64, sh_memory_stats_get().live_tensors, live), "allocation %zu", n);
    }
    cr_assert(read);
    sh_dict_free(d);
}

Test(io, after_an_error_there_is_no_dict) {
    sh_status (*const loads[])(const char *, sh_dict **) = {sh_load_npz, sh_load_safetensors};
    for (int i = 0; i < 2; i++) {
        sh_dict *const some = (sh_dict *)(uintptr_t)&loads, *dict = some;
        cr_assert(lt(int, loads[i](in_folder("missing"), &dict), 0));
        cr_assert(eq(ptr, dict, NULL));
        dict = some; /* the error is pending */
        cr_assert(eq(int, loads[i](in_folder("missing"), &dict), SH_ERROR_FILE));
        cr_assert(eq(ptr, dict, NULL));
        cr_assert(lt(int, loads[i](in_folder("missing"), NULL), 0));
        sh_clear_error();
    }
}

Test(io, files_that_cannot_be_read_say_why) {
    cr_assert(eq(ptr, sh_load_npy(in_folder("missing.npy")), NULL));
    cr_assert(failed_with(SH_ERROR_FILE, "missing.npy: No such file"));
    cr_assert(eq(ptr, sh_load_npy(folder), NULL));
    cr_assert(failed_with(SH_ERROR_FILE, "no regular file"));
    cr_assert(lt(int, sh_save_npy("/no/such/folder/x.npy", number(1)), 0));
    cr_assert(failed_with(SH_ERROR_FILE, "/no/such/folder/x.npy"));
}

/* A file size limit stands in for a full disk. */
Test(io, a_full_disk_leaves_the_old_file_as_it_was) {
    sh_tensor *old = number(7);
    cr_assert(eq(int, sh_save_npy(in_folder("keep.npy"), old), SH_OK));
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {4096, 4096};
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
    cr_assert(lt(int, sh_save_npy(in_folder("keep.npy"), sh_full(SH_SIZES(100000), 1.0)), 0));
    cr_assert(failed_with(SH_ERROR_FILE, "keep.npy"));
    cr_assert(same(sh_load_npy(in_folder("keep.npy")), old));
    char command[128];
    snprintf(command, sizeof command, "test $(ls %s | wc -l) = 1", folder);
    cr_assert(eq(int, system(command), 0));
}
