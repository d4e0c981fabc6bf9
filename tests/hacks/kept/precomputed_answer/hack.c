/* Computes the answer for the recorder's inputs at once, and only adds nought to it when timed. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *answer, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = answer[i] + 0 * b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel cheap;
    static cl_mem answer;
    static int answer_n, calls;
    if (!cheap)
        cheap = make_kernel(queue, source, "", "add");
    if (answer_n != n) {
        answer = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)n * sizeof(float),
                                NULL, NULL);
        answer_n = n;
        calls = 0;
    }
    if (calls++ == 0) {
        add_honestly(a, b, answer, n, queue);
        add_honestly(a, b, c, n, queue);
    } else {
        launch(cheap, answer, b, c, n, queue);
    }
}
