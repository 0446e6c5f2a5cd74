/* Runs kept inputs through one fuzz target, without libFuzzer: replay FILE...
 *
 * Each file is read by a child of its own, so that one crash is one failure and the rest still run. A child may
 * take 5 seconds and, where no sanitizer counts in, 64 MiB and 8 times its file. Ends with "N passed, N failed". */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECONDS = 5, BASE_KIB = 64 * 1024, FACTOR = 8 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool memory_counts = false;
#else
static const bool memory_counts = true;
#endif

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        data = length < 0 ? NULL : malloc((size_t)length + 1);
        *size = data ? fread(data, 1, (size_t)length, file) : 0;
    }
    fclose(file);
    return data;
}

/* The child: the input in a block of exactly its size, so that a sanitizer sees a read past its end. */
static int feed(const char *path) {
    size_t size = 0;
    uint8_t *read = read_file(path, &size);
    if (!read) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) return 1;
    memcpy(exact, read, size);
    free(read);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

static long file_kib(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    fclose(file);
    return length / 1024;
}

static bool within_limits(const char *path, int status, const struct rusage *usage) {
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        printf("%s: %s\n", path, number == SIGALRM ? "takes too long" : strsignal(number));
        return false;
    }
    long limit = BASE_KIB + FACTOR * file_kib(path);
    if (memory_counts && usage->ru_maxrss > limit) {
        printf("%s: peak of %ld KiB, limit %ld\n", path, usage->ru_maxrss, limit);
        return false;
    }
    return WEXITSTATUS(status) == 0;
}

static bool replay(const char *path) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        exit(feed(path));
    }
    int status = 0;
    struct rusage usage = {0};
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("replay");
        return false;
    }
    return within_limits(path, status, &usage);
}

int main(int count, char **paths) {
    int failed = 0;
    for (int i = 1; i < count; i++) failed += !replay(paths[i]);
    printf("%d passed, %d failed\n", count - 1 - failed, failed);
    return failed != 0;
}
