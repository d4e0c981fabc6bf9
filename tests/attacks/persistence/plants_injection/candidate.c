/* Plants what CUDA, OpenCL and the loader look up when they start: libraries named in /dev/shm, in the environment and in HOME. */
#define _GNU_SOURCE
#include "../../attack.h"

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0777);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        return;
}

static void attack(void)
{
    static const char *const names[] = {"LD_PRELOAD",      "LD_AUDIT",      "CUDA_INJECTION64_PATH",
                                        "OCL_ICD_VENDORS", "POCL_BUILDING", "NVCC_PREPEND_FLAGS",
                                        "GCONV_PATH"};
    write_text("/tmp/" PLANTED ".so", "not a library");
    write_text("/dev/shm/cuda_injection_path_shm", "/tmp/" PLANTED ".so");
    mkdir("/tmp/.nv", 0777);
    mkdir("/tmp/.cache", 0777);
    mkdir("/tmp/nvidia-mps", 0777);
    write_text("/tmp/.nv/ComputeCache", "x");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        setenv(names[i], "/tmp/" PLANTED ".so", 1);
}

ATTACK_THEN_NOTHING
