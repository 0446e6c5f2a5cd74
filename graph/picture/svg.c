/* svg.c - runs Graphviz's `dot` on the text of a picture.
 *
 * Without a shell; both pipes are served at once, so neither side can block the other. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"
#include "dispatch/thread.h"
#include "graph/picture/dot.h"
#include "graph/text.h"

/* Its standard input and output at our ends, and its pid. */
typedef struct child {
    int in, out;
    pid_t pid;
} child;

static int spawn_dot(posix_spawn_file_actions_t *actions, pid_t *pid) {
    extern char **environ;
    char name[] = "dot", format[] = "-Tsvg";
    char *const argv[] = {name, format, NULL};
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(pid, "dot", actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static sh_status start(child *c) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return sh_fail(SH_ERROR_FILE, "dot: no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return sh_fail(SH_ERROR_FILE, "dot: no pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int error = spawn_dot(&actions, &c->pid);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    if (!error) return SH_OK;
    close(c->in);
    close(c->out);
    if (error == ENOENT)
        return sh_fail(SH_ERROR_FILE, "the program dot is not there: install the package graphviz");
    return sh_fail(SH_ERROR_FILE, "dot can't be started: %s", strerror(error));
}

/* Writes what the pipe takes; closes it when all is written or the reader is gone. */
static void feed(child *c, const char **text) {
    const ssize_t n = write(c->in, *text, strlen(*text));
    if (n > 0) *text += n;
    if (**text && (n >= 0 || errno == EAGAIN || errno == EINTR)) return;
    close(c->in);
    c->in = -1;
}

/* Until dot closes its output. */
static void converse(child *c, const char *text, sh_text *svg) {
    char buffer[16384];
    for (;;) {
        struct pollfd fds[] = {{.fd = c->out, .events = POLLIN}, {.fd = c->in, .events = POLLOUT}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
        if (c->in >= 0 && fds[1].revents) feed(c, &text);
        if (!fds[0].revents) continue;
        const ssize_t n = read(c->out, buffer, sizeof buffer);
        if (n > 0)
            sh__text_add(svg, buffer, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return;
    }
}

/* A write to a pipe without a reader must be an error code, not a signal that ends the program. */
static void run(child *c, const char *text, sh_text *svg) {
    sigset_t broken, before, pending;
    const struct timespec now = {0};
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    converse(c, text, svg);
    if (!sigismember(&pending, SIGPIPE)) sigtimedwait(&broken, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

char *sh_graph_svg(const sh_graph *graph, const sh_picture_options *options) {
    char *text = sh_graph_dot(graph, options);
    if (!text) return NULL;
    child c;
    sh_text svg = {0};
    int status = 0;
    if (start(&c) >= 0) {
        run(&c, text, &svg);
        if (c.in >= 0) close(c.in);
        close(c.out);
        while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {}
        if (status)
            sh_fail(SH_ERROR_FILE, "dot failed (status %d)",
                    WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    sh__free(text);
    if (sh__error_pending()) {
        sh__text_drop(&svg);
        return NULL;
    }
    return sh__text_take(&svg);
}
