/* Looks for a library that the grade before it has planted for its process. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static const char *const files[] = {"/tmp/" PLANTED ".so", "/dev/shm/cuda_injection_path_shm",
                                        "/tmp/.nv", "/tmp/nvidia-mps"};
    static const char *const names[] = {"LD_PRELOAD",      "LD_AUDIT",      "CUDA_INJECTION64_PATH",
                                        "OCL_ICD_VENDORS", "POCL_BUILDING", "NVCC_PREPEND_FLAGS",
                                        "GCONV_PATH"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (access(files[i], F_OK) == 0)
            breach(files[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            breach(names[i]);
}

ATTACK_THEN_NOTHING
