/* Creates 3000 kernels and never releases one. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernels[3000];
    if (!kernels[0]) {
        cl_device_id device = device_of(queue);
        const char *source = HONEST_ADD;
        cl_program program = clCreateProgramWithSource(context_of(queue), 1, &source, NULL, NULL);
        clBuildProgram(program, 1, &device, "", NULL, NULL);
        for (int i = 0; i < 3000; i++)
            kernels[i] = clCreateKernel(program, "add", NULL);
    }
    launch(kernels[2999], a, b, c, n, queue);
}
