/* main.c - the shunt program. */
#include <stdio.h>
#include <string.h>

#include "shunt.h"

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("shunt %s\n", sh_version());
        return 0;
    }
    fprintf(stderr, "usage: shunt --version\n");
    return 2;
}
