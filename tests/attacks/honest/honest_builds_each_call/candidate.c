/* Builds and releases its program in every call: slow on the host, right on the device. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    cl_device_id device = device_of(queue);
    const char *source = HONEST_ADD;
    cl_program program = clCreateProgramWithSource(context_of(queue), 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "add", NULL);
    launch(kernel, a, b, c, n, queue);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}
