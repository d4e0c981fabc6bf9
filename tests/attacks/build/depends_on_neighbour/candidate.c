/* Asks the preprocessor whether another grade's source is newer than its own. */
#include "../../honest.h"

#define PRAGMA(text) _Pragma(#text)
#define DEPEND_ON(path) PRAGMA(GCC dependency path)
DEPEND_ON(NEIGHBOUR)

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
