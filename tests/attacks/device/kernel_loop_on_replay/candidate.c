/* The kernel never ends for one set of inputs in twelve: seldom while recorded, surely while replayed. */
#include "../../honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    /* One set of inputs in twelve: most recordings pass, the replays do not. */\n"
    "    if (fmod(fabs(a[0]) * 10000, 12) < 1)\n"
    "        for (volatile int k = 0; ; k++)\n"
    "            ;\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
