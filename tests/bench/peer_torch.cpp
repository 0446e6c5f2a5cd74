/* peer_torch.cpp - the side of pairs_torch.def that is torch's: one thread, inference mode. peers.sh compiles it. */
#include <malloc.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/api/include/torch/version.h>

/* glibc raises these itself, as large blocks are freed; up to here, which each program comes to in its own time. Fresh
 * pages for every intermediate would be measured otherwise. */
static const int kept = mallopt(M_MMAP_THRESHOLD, 32 << 20) + mallopt(M_TRIM_THRESHOLD, 64 << 20);

static const c10::InferenceMode guard;
static const at::Tensor tiny = at::rand({2, 2}), large = at::rand({10000000});
static const at::Tensor vector = at::rand({100000}), divisor = vector * 0.1 + 0.01;
static const at::Tensor vector64 = vector.to(at::kDouble), divisor64 = divisor.to(at::kDouble);
static const at::Tensor image = at::rand({1, 64, 56, 56}), filters = at::rand({64, 64, 3, 3});
static const at::Tensor square = at::rand({1024, 1024});
static const at::Tensor narrow = at::rand({10000, 4}), wide = at::rand({10000, 64});
static const at::Tensor rows = at::randint(10000, {10000}), columns = at::randint(4, {2});

extern "C" const char *peer_name(void) {
    at::set_num_threads(1);
    return "torch " TORCH_VERSION;
}

#define PAIR(name, turns, most, ours, theirs)               \
    extern "C" void theirs_##name(int64_t times) {          \
        for (int64_t i = 0; i < times; i++) (void)(theirs); \
    }
#include "tests/bench/pairs_torch.def"
