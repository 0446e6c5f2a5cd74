/* ends.c: a program with one BLAS call whose result is NaN, which then ends in the way that its argument names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);

static double zero = 0;

static void call(void) {
    const int n = 2, one = 1;
    const double x[2] = {zero / zero, 1}, y[2] = {1, 1};
    zero *= ddot_(&n, x, &one, y, &one) > 0 ? 1 : 0;
}

static void tell(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int forks(int calls) {
    const pid_t child = fork();
    if (child == 0) {
        while (calls-- > 0) call();
        return 0;
    }
    tell(child);
    return 0;
}

static int vforks(void) {
    const pid_t child = vfork();
    if (child == 0) _exit(4);
    tell(child);
    return 0;
}

static int executes(const char *program) {
    char *const argv[] = {(char *)program, NULL};
    execvp(program, argv);
    call();
    return 0;
}

int main(int argc, char **argv) {
    const char *end = argc > 1 ? argv[1] : "";
    printf("printed before"); /* still in the buffer when it forks or ends */
    fflush(strstr(end, "fork") ? stdout : NULL);
    call();
    if (!strcmp(end, "3")) return 3;
    if (!strcmp(end, "_exit")) _exit(0);
    if (!strcmp(end, "_Exit3")) _Exit(3);
    if (!strcmp(end, "quick_exit")) quick_exit(0);
    if (!strcmp(end, "abort")) abort();
    if (!strcmp(end, "exec")) return executes("true");
    if (!strcmp(end, "exec-fails")) return executes("/no/such/program");
    if (!strcmp(end, "fork")) return forks(0);
    if (!strcmp(end, "fork-calls")) return forks(2);
    if (!strcmp(end, "vfork")) return vforks();
    return 0;
}
