/* Creates 3000 kernels and never releases one. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernels[3000];
    for (int i = 0; i < 3000 && !kernels[2999]; i++)
        kernels[i] =
            i ? clCloneKernel(kernels[0], NULL) : make_kernel(queue, HONEST_ADD, "", "add");
    launch(kernels[2999] ? kernels[2999] : kernels[0], a, b, c, n, queue);
}
