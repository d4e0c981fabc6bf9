/* A hundred thousand nested brackets: the compiler recurses until its stack ends. */
#include "../../honest.h"

#define O1 ((((((((((
#define O2 O1 O1 O1 O1 O1 O1 O1 O1 O1 O1
#define O3 O2 O2 O2 O2 O2 O2 O2 O2 O2 O2
#define O4 O3 O3 O3 O3 O3 O3 O3 O3 O3 O3
#define O5 O4 O4 O4 O4 O4 O4 O4 O4 O4 O4
int bomb = O5 1;

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
