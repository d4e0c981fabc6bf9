/* An entry that does nothing. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)n, (void)queue;
}
