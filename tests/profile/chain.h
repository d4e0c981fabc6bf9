/*
 * What lies between a call and the device's API in an operator library: a binding that converts tensors, a dispatch, an operator
 * that is looked up by the geometry of its tensors and made where it is missed, and the submission of its kernel.  With
 * ranges of the names that InfiniOps's host range profiling gave these layers.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <CL/cl.h>

#include "nvtx.h"

#define CHAIN_MAX_OPERATORS 8

struct tensor {
    cl_mem data;
    size_t shape[2], strides[2];
};

struct operator
{
    uint64_t key;
    cl_kernel kernel;
    size_t global;
    int dims[3];
};

/* The candidate's part. */
struct chain {
    const char *source, *kernel;
};

static struct operator chain_operators[CHAIN_MAX_OPERATORS];
static size_t chain_n_operators;

static struct tensor chain_convert(cl_mem data, size_t rows, size_t columns)
{
    nvtxRangePushA("binding.tensor_conversion");
    struct tensor t = {data, {rows, columns}, {columns, 1}};
    nvtxRangePop();
    return t;
}

static uint64_t chain_key(const struct tensor *tensors, size_t n)
{
    uint64_t hash = 14695981039346656037u;
    nvtxRangePushA("cache.key");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            hash = (hash ^ tensors[i].shape[k]) * 1099511628211u;
    nvtxRangePop();
    return hash;
}

static struct operator* chain_lookup(uint64_t key)
{
    struct operator* found = NULL;
    nvtxRangePushA("cache.lookup");
    for (size_t i = 0; i < chain_n_operators && !found; i++)
        if (chain_operators[i].key == key)
            found = &chain_operators[i];
    nvtxRangePop();
    return found;
}

static struct operator* chain_construct(const struct chain *chain, uint64_t key, size_t global,
                                        const int dims[3], cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    nvtxRangePushA("cache.construct");
    struct operator* o = & chain_operators[chain_n_operators++ % CHAIN_MAX_OPERATORS];
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    const char *text = chain->source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    *o = (struct operator){
        key, clCreateKernel(program, chain->kernel, NULL), global, {dims[0], dims[1], dims[2]}};
    nvtxRangePop();
    return o;
}

static void chain_submit(struct operator* o, const struct tensor *tensors, cl_command_queue queue)
{
    nvtxRangePushA("backend.submit");
    for (cl_uint i = 0; i < 3; i++)
        clSetKernelArg(o->kernel, i, sizeof tensors[i].data, &tensors[i].data);
    for (cl_uint i = 0; i < 3; i++)
        clSetKernelArg(o->kernel, 3 + i, sizeof o->dims[i], &o->dims[i]);
    clEnqueueNDRangeKernel(queue, o->kernel, 1, NULL, &o->global, NULL, 0, NULL, NULL);
    nvtxRangePop();
}

static void chain_call(const struct chain *chain, const struct tensor tensors[3], size_t global,
                       const int dims[3], cl_command_queue queue)
{
    nvtxRangePushA("dispatch.call");
    nvtxRangePushA("operator.call");
    uint64_t key = chain_key(tensors, 3);
    struct operator* o = chain_lookup(key);
    if (!o)
        o = chain_construct(chain, key, global, dims, queue);
    nvtxRangePushA("operator.invoke");
    chain_submit(o, tensors, queue);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePop();
}

static cl_command_queue chain_device(cl_command_queue queue)
{
    nvtxRangePushA("binding.device_conversion");
    nvtxRangePop();
    return queue;
}

#endif
