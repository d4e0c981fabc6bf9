#define _GNU_SOURCE
#include "skeleton.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "call.h"
#include "skeleton_parts.h"

/* How a device's kernel language and host language write things. */
struct dialect {
    const char *device;
    const char *stream;                    /* type of the queue in the entry */
    char *(*buffer)(const struct param *); /* buffer of the entry */
    const char *elements[DTYPE_COUNT];     /* element types in kernel code */
    const char *integers[2];               /* i32, i64 in kernel code */
    const char *pointer;                   /* address space of buffers in kernel code */
    const char *runtime, *bf16, *f16, *f8; /* headers, where types need them */
};

static char *opencl_buffer(const struct param *param);
static char *cuda_buffer(const struct param *param);
static char *hip_buffer(const struct param *param);

static const struct dialect opencl = {
    .device = "opencl",
    .stream = "cl_command_queue",
    .buffer = opencl_buffer,
    .elements = {"double", "float", "half", "ushort", "uchar", "uchar", "char", "uchar", "int",
                 "long", "uchar"},
    .integers = {"int", "long"},
    .pointer = "global ",
};

static const struct dialect cuda = {
    .device = "cuda",
    .stream = "cudaStream_t",
    .buffer = cuda_buffer,
    .elements = {"double", "float", "__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2",
                 "int8_t", "uint8_t", "int", "int64_t", "bool"},
    .integers = {"int", "int64_t"},
    .pointer = "",
    .runtime = "cuda_runtime.h",
    .bf16 = "cuda_bf16.h",
    .f16 = "cuda_fp16.h",
    .f8 = "cuda_fp8.h",
};

/* On AMD's cards, and on CUDA's with other headers; written as CUDA is. */
static const struct dialect hip = {
    .device = "hip",
    .stream = "hipStream_t",
    .buffer = hip_buffer,
    .elements = {"double", "float", "__half", "__hip_bfloat16", "__hip_fp8_e4m3", "__hip_fp8_e5m2",
                 "int8_t", "uint8_t", "int", "int64_t", "bool"},
    .integers = {"int", "int64_t"},
    .pointer = "",
    .runtime = "hip/hip_runtime.h",
    .bf16 = "hip/hip_bf16.h",
    .f16 = "hip/hip_fp16.h",
    .f8 = "hip/hip_fp8.h",
};

static char *opencl_buffer(const struct param *param)
{
    char *text;
    return asprintf(&text, "cl_mem %s", param->name) < 0 ? NULL : text;
}

static char *pointer_to(const struct dialect *dialect, const struct param *param)
{
    char *text;
    return asprintf(&text, "%s%s *%s", param->kind == PARAM_IN ? "const " : "",
                    dialect->elements[param->dtype], param->name) < 0
               ? NULL
               : text;
}

static char *cuda_buffer(const struct param *param)
{
    return pointer_to(&cuda, param);
}

static char *hip_buffer(const struct param *param)
{
    return pointer_to(&hip, param);
}

static bool is_taken(const struct task *task, const char *name)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (strcmp(task->params[i].name, name) == 0)
            return true;
    return strcmp(task->entry, name) == 0;
}

/* A name that no parameter has, so that nothing in the skeleton hides anything.  Each underscore
 * uses up one of at most TASK_MAX_PARAMS + 1 taken names, so there is always room. */
void skeleton_free_name(const struct task *task, const char *wish, char ret[SKELETON_MAX_NAME])
{
    size_t length = (size_t)snprintf(ret, SKELETON_MAX_NAME, "%s", wish);
    while (is_taken(task, ret) && length + 1 < SKELETON_MAX_NAME) {
        ret[length++] = '_';
        ret[length] = 0;
    }
}

struct names {
    char items[SKELETON_MAX_NAME], index[SKELETON_MAX_NAME], device_function[SKELETON_MAX_NAME],
        source[SKELETON_MAX_NAME], kernel[SKELETON_MAX_NAME], build[SKELETON_MAX_NAME],
        group[SKELETON_MAX_NAME], global[SKELETON_MAX_NAME];
};

static struct names names_for(const struct task *task)
{
    struct names names;
    skeleton_free_name(task, "items", names.items);
    skeleton_free_name(task, "index", names.index);
    skeleton_free_name(task, "compute", names.device_function);
    skeleton_free_name(task, "kernel_source", names.source);
    skeleton_free_name(task, "cached_kernel", names.kernel);
    skeleton_free_name(task, "build_kernel", names.build);
    skeleton_free_name(task, "group_size", names.group);
    skeleton_free_name(task, "global_size", names.global);
    return names;
}

const struct param *skeleton_output(const struct task *task)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_OUT || task->params[i].kind == PARAM_INOUT)
            return &task->params[i];
    return NULL;
}

const struct param *skeleton_stream(const struct task *task)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_STREAM)
            return &task->params[i];
    return NULL;
}

/* The description at the top. */

static void put_comment_text(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++)
        fprintf(out, c[0] == '*' && c[1] == '/' ? "* " : "%c", *c);
}

void skeleton_parameter(FILE *out, const struct param *param)
{
    fprintf(out, "%-12s %s", param->name, param_kind_name(param->kind));
    if (param->kind != PARAM_STREAM)
        fprintf(out, ", %s", dtype_name(param->dtype));
    if (param_is_buffer(param)) {
        fprintf(out, ", [");
        for (size_t axis = 0; axis < param->rank; axis++)
            fprintf(out, "%s%s", axis ? ", " : "", expr_text(param->shape[axis]));
        fprintf(out, "]%s", param->rank > 1 ? " row-major" : "");
    } else if (param->kind == PARAM_SCALAR) {
        fprintf(out, ", always %.9g", param->scalar);
    }
    fprintf(out, "\n");
}

void skeleton_tolerance(FILE *out, const struct tolerance *t)
{
    fprintf(out,
            "Every %s must be within %g + %g * |expected|; all together within %g in the "
            "2-norm.\n",
            dtype_name(t->dtype), t->absolute, t->relative, t->norm);
}

static void put_description(FILE *out, const struct task *task)
{
    fprintf(out, "/*\n * %s: ", task->name);
    put_comment_text(out, task->title);
    fprintf(out, ".  `kgrade show %s` prints the statement.\n *\n", task->name);
    for (size_t i = 0; i < task->n_params; i++) {
        fprintf(out, " *   ");
        skeleton_parameter(out, &task->params[i]);
    }
    fprintf(out, " *\n");
    for (size_t i = 0; i < task->n_tolerances; i++) {
        const struct tolerance *t = &task->tolerances[i];
        fprintf(out, " * ");
        skeleton_tolerance(out, t);
    }
    fprintf(
        out,
        " * Inputs must stay unchanged and every element of an output must be written.  The\n"
        " * function only puts work on the %s and returns; it must not wait.  Only time on the\n"
        " * device is scored.\n"
        " */\n",
        skeleton_stream(task) ? "given queue" : "default stream");
}

/* Shapes as host code. */

static void put_extent(FILE *out, const char *text)
{
    bool is_name = true;
    for (const char *c = text; *c; c++)
        is_name &= isalnum((unsigned char)*c) || *c == '_';
    fprintf(out, is_name ? "(int64_t)" : "(int64_t)(");
    while (*text) {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        if ((n == 3 && (memcmp(text, "min", 3) == 0 || memcmp(text, "max", 3) == 0)) ||
            (n == 8 && memcmp(text, "ceil_div", 8) == 0))
            fprintf(out, "shape_");
        n = n ? n : 1;
        fprintf(out, "%.*s", (int)n, text);
        text += n;
    }
    if (!is_name)
        fprintf(out, ")");
}

static void put_items(FILE *out, const struct param *output)
{
    for (size_t axis = 0; axis < output->rank; axis++) {
        fprintf(out, axis ? " * " : "");
        put_extent(out, expr_text(output->shape[axis]));
    }
    if (output->rank == 0)
        fprintf(out, "1");
}

static void put_shape_functions(FILE *out, const struct param *output)
{
    static const struct {
        const char *name, *body;
    } functions[] = {
        {"min", "a < b ? a : b"}, {"max", "a > b ? a : b"}, {"ceil_div", "(a + b - 1) / b"}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool used = false;
        for (size_t axis = 0; axis < output->rank; axis++)
            used |= strstr(expr_text(output->shape[axis]), functions[i].name) != NULL;
        if (used)
            fprintf(
                out,
                "static inline int64_t shape_%s(int64_t a, int64_t b)\n{\n    return %s;\n}\n\n",
                functions[i].name, functions[i].body);
    }
}

/* Parameters of the device function: all but the stream, then the number of items. */
static void put_device_parameters(FILE *out, const struct task *task, const struct dialect *dialect,
                                  const char *items)
{
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if (param_is_buffer(param))
            fprintf(out, "%s%s%s *%s, ", dialect->pointer, param->kind == PARAM_IN ? "const " : "",
                    dialect->elements[param->dtype], param->name);
        else if (param->kind != PARAM_STREAM)
            fprintf(out, "%s %s, ", dialect->elements[param->dtype], param->name);
    }
    fprintf(out, "%s %s", dialect->integers[1], items);
}

void skeleton_opencl_kernel(FILE *out, const struct task *task, const char *function,
                            const char *items, const char *index, const char *before,
                            const char *after)
{
    const struct param *output = skeleton_output(task);
    fprintf(out, "%skernel void %s(", before, function);
    put_device_parameters(out, task, &opencl, items);
    fprintf(out, ")%s%s{%s%s    long %s = get_global_id(0);%s", after, before, after, before, index,
            after);
    fprintf(out, "%s    if (%s >= %s)%s%s        return;%s", before, index, items, after, before,
            after);
    fprintf(out, "%s    /* YOUR WORK: compute %s[%s]. */%s", before, output->name, index, after);
    if (output->dtype == DTYPE_F16)
        fprintf(out, "%s    vstore_half(0.0f, %s, %s);%s", before, index, output->name, after);
    else
        fprintf(out, "%s    %s[%s] = 0;%s", before, output->name, index, after);
    fprintf(out, "%s}", before);
}

static int write_opencl(FILE *out, const struct task *task, kgrade_error *err)
{
    const struct param *stream = skeleton_stream(task), *output = skeleton_output(task);
    if (!stream)
        return fail(err, "task_not_for_device", "Give the task a parameter of kind stream.",
                    "The task %s passes no queue, so OpenCL cannot run it.", task->name);
    struct names names = names_for(task);

    put_description(out, task);
    fprintf(out, "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n"
                 "#include <stdint.h>\n#include <stdio.h>\n\n");
    put_shape_functions(out, output);

    fprintf(out, "static const char %s[] =\n", names.source);
    skeleton_opencl_kernel(out, task, names.device_function, names.items, names.index, "    \"",
                           "\\n\"\n");
    fprintf(out, "\\n\";\n\n");

    fprintf(out,
            "static cl_kernel %s;\n\n"
            "/* Done in the first call; later calls only set arguments and enqueue. */\n"
            "static cl_kernel %s(cl_command_queue queue)\n{\n"
            "    cl_context context;\n    cl_device_id device;\n"
            "    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);\n"
            "    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);\n"
            "    const char *text = %s;\n"
            "    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);\n"
            "    if (clBuildProgram(program, 1, &device, \"\", NULL, NULL) != CL_SUCCESS) {\n"
            "        char log[4096] = \"\";\n"
            "        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, "
            "NULL);\n"
            "        fprintf(stderr, \"%%s\\n\", log);\n        return NULL;\n    }\n"
            "    return clCreateKernel(program, \"%s\", NULL);\n}\n\n",
            names.kernel, names.build, names.source, names.device_function);

    cleanup_free char *prototype = call_prototype(task, opencl.buffer, opencl.stream);
    if (!prototype)
        return fail(err, "out_of_memory", NULL, "No memory for a skeleton.");
    fprintf(out, "%s\n{\n    if (!%s)\n        %s = %s(%s);\n    int64_t %s = ", prototype,
            names.kernel, names.kernel, names.build, stream->name, names.items);
    put_items(out, output);
    fprintf(out, ";\n    if (%s == 0)\n        return;\n", names.items);
    unsigned argument = 0;
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind != PARAM_STREAM)
            fprintf(out, "    clSetKernelArg(%s, %u, sizeof %s, &%s);\n", names.kernel, argument++,
                    task->params[i].name, task->params[i].name);
    fprintf(out, "    clSetKernelArg(%s, %u, sizeof %s, &%s);\n", names.kernel, argument,
            names.items, names.items);
    fprintf(out,
            "    size_t %s = 64, %s = ((size_t)%s + %s - 1) / %s * %s;\n"
            "    clEnqueueNDRangeKernel(%s, %s, 1, NULL, &%s, &%s, 0, NULL, NULL);\n}\n",
            names.group, names.global, names.items, names.group, names.group, names.group,
            stream->name, names.kernel, names.global, names.group);
    return 0;
}

static bool uses(const struct task *task, enum dtype type)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind != PARAM_STREAM && task->params[i].dtype == type)
            return true;
    return false;
}

static int write_cuda(FILE *out, const struct task *task, const struct dialect *d,
                      kgrade_error *err)
{
    const struct param *stream = skeleton_stream(task), *output = skeleton_output(task);
    struct names names = names_for(task);

    put_description(out, task);
    if (uses(task, DTYPE_BF16))
        fprintf(out, "#include <%s>\n", d->bf16);
    if (uses(task, DTYPE_F16))
        fprintf(out, "#include <%s>\n", d->f16);
    if (uses(task, DTYPE_F8E4M3) || uses(task, DTYPE_F8E5M2))
        fprintf(out, "#include <%s>\n", d->f8);
    fprintf(out, "#include <%s>\n#include <stdint.h>\n\n", d->runtime);
    put_shape_functions(out, output);

    fprintf(out, "__global__ void %s(", names.device_function);
    put_device_parameters(out, task, d, names.items);
    fprintf(out,
            ")\n{\n    int64_t %s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (%s >= %s)\n        return;\n"
            "    /* YOUR WORK: compute %s[%s]. */\n    %s[%s] = %s(0);\n}\n\n",
            names.index, names.index, names.items, output->name, names.index, output->name,
            names.index, d->elements[output->dtype]);

    cleanup_free char *prototype = call_prototype(task, d->buffer, d->stream);
    if (!prototype)
        return fail(err, "out_of_memory", NULL, "No memory for a skeleton.");
    fprintf(out, "extern \"C\"\n%s\n{\n    int64_t %s = ", prototype, names.items);
    put_items(out, output);
    fprintf(out, ";\n    if (%s == 0)\n        return;\n", names.items);
    fprintf(out, "    unsigned %s = 256;\n    %s<<<(unsigned)((%s + %s - 1) / %s), %s", names.group,
            names.device_function, names.items, names.group, names.group, names.group);
    if (stream)
        fprintf(out, ", 0, %s", stream->name);
    fprintf(out, ">>>(");
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind != PARAM_STREAM)
            fprintf(out, "%s, ", task->params[i].name);
    fprintf(out, "%s);\n}\n", names.items);
    return 0;
}

static int write_source(FILE *out, const struct task *task, const char *device,
                        const char *language, kgrade_error *err)
{
    if (language && !strncmp(language, "python", 6))
        return skeleton_write_python(out, task, device, err);
    if (strcmp(device, opencl.device) == 0)
        return write_opencl(out, task, err);
    bool is_hip = !strcmp(device, hip.device) || (language && !strcmp(language, "hip"));
    return write_cuda(out, task, is_hip ? &hip : &cuda, err);
}

char *skeleton_source(const struct task *task, const char *device, const char *language,
                      kgrade_error *err)
{
    bool for_opencl = strcmp(device, opencl.device) == 0;
    if (!for_opencl && strcmp(device, cuda.device) != 0 && strcmp(device, hip.device) != 0) {
        fail(err, "unknown_device", "Use opencl, cuda or hip.",
             "There is no skeleton for the device %s.", device);
        return NULL;
    }
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        fail(err, "out_of_memory", NULL, "No memory for a skeleton.");
        return NULL;
    }
    int result = write_source(out, task, device, language, err);
    if (fclose(out) && result == 0)
        result = fail(err, "out_of_memory", NULL, "No memory for a skeleton.");
    return result ? NULL : steal_pointer(&text);
}
