/* Prints its whole environment and looks for a secret in it. */
#define _GNU_SOURCE
#include <unistd.h>

#include "../../honest.h"

extern char **environ;

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        for (char **e = environ; *e; e++) {
            printf("%s\n", *e);
            fprintf(stderr, "%s\n", *e);
            if (strstr(*e, "KGRADE_TEST_SECRET"))
                breach(*e);
        }
    }
    add_honestly(a, b, c, n, queue);
}
