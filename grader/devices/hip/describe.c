#include "describe.h"

#include "code_object.h"

json_t *hip_describe_kernel(const void *image, size_t size, const char *kernel)
{
    cleanup_code_object struct code_object *object = code_object_parse(image, size, NULL);
    const struct code_object_kernel *k = object ? code_object_kernel(object, kernel) : NULL;
    if (!k)
        return NULL;
    /* Registers as on the other devices: those of a lane. */
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "target", object->target,
                     "registers", (json_int_t)k->vector_registers, "scalar_registers",
                     (json_int_t)k->scalar_registers, "accumulator_registers",
                     (json_int_t)k->accumulator_registers, "shared_bytes",
                     (json_int_t)k->shared_bytes, "stack_bytes", (json_int_t)k->private_bytes,
                     "spills", (json_int_t)k->vector_spills + k->scalar_spills, "argument_bytes",
                     (json_int_t)k->kernarg_bytes, "wavefront", (json_int_t)k->wavefront);
}
