/* Candidates in HIP for an NVIDIA card, as the build step compiles them: with the headers in the jail, and with words that tell what only
 * an AMD card has. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grader/build/build.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

#define SKIPPED 77
#define HEAD "#include <hip/hip_runtime.h>\n__global__ void k(float *x) {\n"

static const struct device *device;

static kgrade *open_engine(const char *prefix, bool reduced)
{
    const kgrade_options options = {
        .prefix = prefix, .allow_reduced = true, .force_reduced = reduced};
    kgrade *engine = NULL;
    kgrade_error err = {.code = ""};
    if (kgrade_open(&options, &engine, &err))
        fail_msg("%s %s", err.code, err.message);
    return engine;
}

static int build(kgrade *engine, const char *source, struct finding *finding)
{
    cleanup_bytes struct bytes library = {0};
    bool cached;
    return build_candidate(engine, device, device_language_find(device, "hip"), "", source,
                           strlen(source), &library, &cached, finding);
}

static void assert_refused(kgrade *engine, const char *source, const char *code, const char *words)
{
    struct finding finding = {0};
    assert_int_equal(build(engine, source, &finding), -1);
    assert_string_equal(finding.reason.code, code);
    if (!strstr(finding.log ? finding.log : finding.reason.message, words))
        fail_msg("no \"%s\" in: %s %s", words, finding.reason.message,
                 finding.log ? finding.log : "");
    finding_free(&finding);
}

/* One of the candidates that are graded where there is a card. */
static void assert_case_refused(kgrade *engine, const char *name, const char *words)
{
    char path[256];
    cleanup_bytes struct bytes source = {0};
    snprintf(path, sizeof path, KGRADE_SOURCE_DIR "/tests/gpu/hip/%s/candidate.hip", name);
    assert_int_equal(io_read_file(path, KGRADE_MAX_SOURCE_BYTES, &source, NULL), 0);
    cleanup_free char *text = strndup((const char *)source.data, source.size);
    assert_non_null(text);
    assert_refused(engine, text, "compile_failed", words);
}

static void what_hip_code_uses_compiles(void **state)
{
    (void)state;
    static const char source[] =
        "#include <hip/hip_runtime.h>\n"
        "#include <hip/hip_bf16.h>\n"
        "// kgrade-flags: -DTHREADS=256\n"
        "template <class T> __global__ void sum(const T *x, float *out, int n)\n"
        "{\n"
        "    __shared__ float parts[1024 / warpSize];\n"
        "    HIP_DYNAMIC_SHARED(float, more)\n"
        "    int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;\n"
        "    float v = i < n ? (float)x[i] : 0.0f;\n"
        "    for (int offset = warpSize / 2; offset > 0; offset >>= 1)\n"
        "        v += __shfl_down(v, offset);\n"
        "    v += __shfl_xor(v, 1, 16) + __popcll(__ballot(v > 0)) + __any(v > 0);\n"
        "    parts[threadIdx.x / warpSize] = more[threadIdx.x] = v;\n"
        "    __syncthreads();\n"
        "    float4 q = make_float4(v, v, parts[0], 0) * 2.0f;\n"
        "    if (warpSize == 64)\n"
        "        q += q;\n"
        "    unsafeAtomicAdd(out, q.x);\n"
        "    atomicMax(out, q.z);\n"
        "    if constexpr (sizeof(T) > 8)\n"
        "        out[1] = __builtin_amdgcn_readfirstlane(i);\n"
        "}\n"
        "extern \"C\" void go(const __hip_bfloat16 *x, float *out, int n, hipStream_t stream)\n"
        "{\n"
        "    hipDeviceProp_t properties;\n"
        "    if (hipGetDeviceProperties(&properties, 0) != hipSuccess || properties.warpSize != "
        "warpSize)\n"
        "        return;\n"
        "    (void)hipMemsetAsync(out, 0, sizeof *out, stream);\n"
        "    hipLaunchKernelGGL(HIP_KERNEL_NAME(sum<__hip_bfloat16>), dim3(n / THREADS + 1), "
        "dim3(THREADS),\n"
        "                       THREADS * sizeof(float), stream, x, out, n);\n"
        "    hipLaunchKernelGGL(sum, 1, 64, 256, 0, out, out, n);\n"
        "}\n";
    struct finding finding = {0};
    kgrade *engine = open_engine(KGRADE_BUILD_DIR, false);
    if (build(engine, source, &finding))
        fail_msg("%s %s", finding.reason.message, finding.log ? finding.log : "");
    finding_free(&finding);
    kgrade_close(engine);
}

static void what_only_amd_cards_have_is_told(void **state)
{
    (void)state;
    kgrade *reduced = open_engine(KGRADE_BUILD_DIR, true);
    assert_case_refused(reduced, "amdgcn_builtin",
                        "__builtin_amdgcn_ds_bpermute is an instruction of AMD cards");
    kgrade_close(reduced);
    kgrade *engine = open_engine(KGRADE_BUILD_DIR, false);
    assert_case_refused(engine, "assumes_64_lanes", "this shuffle is written for 64 lanes");
    /* Several at once: a compiler's start takes longer than all of them. */
    static const char source[] = HEAD "x[0] += __shfl_xor(x[0], 32);\n"
                                      "static_assert(warpSize == 64, \"waves of "
                                      "64\");\nhipModule_t module;\n_Float16 half = 0;\n}\n";
    struct finding finding = {0};
    assert_int_equal(build(engine, source, &finding), -1);
    static const char *const words[] = {
        "hip/kgrade_lanes.h",
        "this shuffle is written for 64 lanes",
        "waves of 64",
        "\"hipModule_t\" is undefined",
        "use___half\" is undefined",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!finding.log || !strstr(finding.log, words[i]))
            fail_msg("no \"%s\" in: %s", words[i], finding.log ? finding.log : "nothing");
    assert_null(strstr(finding.log, "/headers"));
    finding_free(&finding);
    assert_refused(engine, "// kgrade-flags: --extra-device-vectorization\n", "flag_not_allowed",
                   "--extra-device-vectorization");
    kgrade_close(engine);
}

static void without_the_headers_it_is_not_the_candidates_fault(void **state)
{
    (void)state;
    char folder[] = "/tmp/test-hip.XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libexec", folder);
    assert_int_equal(symlink(KGRADE_BUILD_DIR "/libexec", path), 0);
    snprintf(path, sizeof path, "%s/share", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/share/kgrade", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/share/kgrade/tasks", folder);
    assert_int_equal(symlink(KGRADE_SOURCE_DIR "/tasks", path), 0);
    kgrade *engine = open_engine(folder, false);
    struct finding finding = {0};
    assert_int_equal(build(engine, HEAD "}\n", &finding), -1);
    assert_string_equal(finding.reason.code, "headers_missing");
    assert_int_equal(finding.verdict, KGRADE_INFRASTRUCTURE_ERROR);
    finding_free(&finding);
    kgrade_close(engine);
    assert_int_equal(io_remove_tree(folder, NULL), 0);
}

int main(void)
{
    device = device_find("cuda");
    if (!device) {
        printf("skipped: the CUDA device is not in this build\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hip_code_uses_compiles),
        cmocka_unit_test(what_only_amd_cards_have_is_told),
        cmocka_unit_test(without_the_headers_it_is_not_the_candidates_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
