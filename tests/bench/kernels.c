/* kernels.c - what single kernels take, in microseconds: alone, or beside a peer where peers.sh links one; then the ratio of
 * each pair is set against its target.
 *
 * Ours and theirs run in turns, so that what else runs on the machine slows both. */
#include <stdio.h>

#include "shunt.h"
#include "tests/bench/timing.h"

#ifdef SH_PEER_PAIRS
const char *peer_name(void);
#define PAIR(name, ...) void theirs_##name(int64_t times);
#include SH_PEER_PAIRS
#undef PAIR
#define THEIRS(name) theirs_##name
#define PAIRS SH_PEER_PAIRS
#else
static const char *peer_name(void) { return NULL; }
#define THEIRS(name) NULL
#define PAIRS "tests/bench/pairs_alone.def"
#endif

static sh_tensor *tiny, *large, *vector, *divisor, *vector64, *divisor64, *image, *filters, *square, *narrow,
    *wide, *rows, *columns;

static void make_tensors(void) {
    tiny = sh_keep(sh_rand(SH_SIZES(2, 2)));
    large = sh_keep(sh_rand(SH_SIZES(10000000)));
    vector = sh_keep(sh_rand(SH_SIZES(100000)));
    divisor = sh_keep(sh_add(sh_mul(vector, 0.1), 0.01));
    vector64 = sh_keep(sh_to(vector, SH_F64));
    divisor64 = sh_keep(sh_to(divisor, SH_F64));
    image = sh_keep(sh_rand(SH_SIZES(1, 64, 56, 56)));
    filters = sh_keep(sh_rand(SH_SIZES(64, 64, 3, 3)));
    square = sh_keep(sh_rand(SH_SIZES(1024, 1024)));
    narrow = sh_keep(sh_rand(SH_SIZES(10000, 4)));
    wide = sh_keep(sh_rand(SH_SIZES(10000, 64)));
    rows = sh_keep(sh_randint(10000, SH_SIZES(10000)));
    columns = sh_keep(sh_randint(4, SH_SIZES(2)));
}

/* A scope each, as theirs give each result back at once. */
#define PAIR(name, turns, most, ours, theirs)          \
    static void ours_##name(int64_t times) {           \
        for (int64_t i = 0; i < times; i++) SH_SCOPE { \
                (void)(ours);                          \
            }                                          \
    }
#include PAIRS
#undef PAIR

static const pair pairs[] = {
#define PAIR(name, turns, most, ...) {#name, ours_##name, THEIRS(name), turns, most},
#include PAIRS
};

int main(void) {
    make_tensors();
    if (sh_error()) return 1;
    print_head("shunt", peer_name());
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) print_pair(&pairs[i]);
    return 0;
}
