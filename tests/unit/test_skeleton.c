#define _GNU_SOURCE
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/task/skeleton.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

/* Names that the skeleton would like to use itself, a title that could end its comment, and every
 * dtype and function. */
static const char awkward[] =
    "{\"name\": \"a\", \"title\": \"Ends here */ or not %s\", \"entry\": \"compute\", "
    "\"parameters\": ["
    "{\"name\": \"items\", \"kind\": \"dim\", \"dtype\": \"i64\"},"
    "{\"name\": \"index\", \"kind\": \"dim\", \"dtype\": \"i32\"},"
    "{\"name\": \"build_kernel\", \"kind\": \"out\", \"dtype\": \"f16\", \"shape\":"
    " [\"ceil_div(items, 3) + 1\", \"max(min(index, 4), 1)\"]},"
    "{\"name\": \"items_\", \"kind\": \"in\", \"dtype\": \"bf16\", \"shape\": [\"items\"],"
    " \"values\": {\"distribution\": \"normal\"}},"
    "{\"name\": \"f8\", \"kind\": \"in\", \"dtype\": \"f8e4m3\", \"shape\": [\"items\"],"
    " \"values\": {\"distribution\": \"uniform\"}},"
    "{\"name\": \"flags\", \"kind\": \"inout\", \"dtype\": \"bool\", \"shape\": [],"
    " \"values\": {\"distribution\": \"uniform\"}},"
    "{\"name\": \"cached_kernel\", \"kind\": \"scalar\", \"dtype\": \"f64\", \"value\": 1.5},"
    "{\"name\": \"kernel_source\", \"kind\": \"stream\"}],"
    "\"tolerance\": {\"f16\": {\"absolute\": 0, \"relative\": 0.001, \"norm\": 0.001}},"
    "\"cases\": {\"correctness\": [{\"items\": 1, \"index\": 1}],"
    " \"benchmark\": [{\"items\": 1, \"index\": 1}]},"
    "\"roofline\": {\"bytes\": \"1\", \"operations\": \"1\"}}";

static struct task *parse(const char *text)
{
    struct task *task = NULL;
    kgrade_error err;
    if (task_parse(text, strlen(text), "text", &task, &err))
        fail_msg("%s", err.message);
    return task;
}

static const char *const c_compiler[] = {"cc",       "-std=c17", "-Wall",         "-Wextra",
                                         "-Wshadow", "-Werror",  "-fsyntax-only", NULL};
static const char *const cpp_compiler[] = {
    "c++",           "-std=c++17", "-Wall",       "-Wextra",
    "-Wshadow",      "-Werror",    "-Wno-unused", "-Wno-unused-parameter",
    "-fsyntax-only", NULL};

static int run(const char *const *command, const char *path)
{
    char *argv[16];
    size_t n = 0;
    for (; command[n]; n++)
        argv[n] = (char *)command[n];
    argv[n++] = (char *)path;
    argv[n] = NULL;
    pid_t child;
    int status;
    if (posix_spawnp(&child, argv[0], NULL, NULL, argv, environ) ||
        waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether a compiler takes the text.  `stubs` is put before it. */
static bool compiles(const char *const *command, const char *suffix, const char *stubs,
                     const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_skeleton.XXXXXX%s", suffix);
    int fd = mkstemps(path, (int)strlen(suffix));
    assert_true(fd >= 0);
    assert_int_equal(io_write_full(fd, stubs, strlen(stubs), IO_NO_DEADLINE, NULL), 0);
    assert_int_equal(io_write_full(fd, text, strlen(text), IO_NO_DEADLINE, NULL), 0);
    close(fd);
    int result = run(command, path);
    unlink(path);
    return result == 0;
}

static void assert_opencl_compiles(const struct task *task)
{
    cleanup_free char *source = skeleton_source(task, "opencl", NULL, NULL);
    assert_non_null(source);
    if (!compiles(c_compiler, ".c", "", source))
        fail_msg("%s", source);
}

/* Enough of CUDA's language for a C++ compiler to check everything but the launch, which becomes a
 * call. */
static const char cuda_stubs[] =
    "#define __global__\n"
    "typedef struct stream *cudaStream_t;\n"
    "struct dim { unsigned x; } blockIdx, blockDim, threadIdx;\n"
    "template <int> struct number { number(int) {} };\n"
    "typedef number<0> __half; typedef number<1> __nv_bfloat16; typedef number<2> __nv_fp8_e4m3;\n";

static void assert_cuda_compiles(const struct task *task)
{
    cleanup_free char *source = skeleton_source(task, "cuda", NULL, NULL);
    assert_non_null(source);
    assert_non_null(strstr(source, "extern \"C\"\nvoid "));
    for (char *line = source; (line = strstr(line, "#include <cuda"));)
        memcpy(line, "//", 2);
    char *launch = strstr(source, "<<<");
    assert_non_null(launch);
    char *end = strstr(launch, ">>>");
    assert_non_null(end);
    memset(launch, ' ', (size_t)(end + 3 - launch));
    if (!compiles(cpp_compiler, ".cpp", cuda_stubs, source))
        fail_msg("%s", source);
}

static const char *const python_parser[] = {
    "python3", "-I", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", NULL};

static void assert_python_parses(const struct task *task, const char *device)
{
    cleanup_free char *source = skeleton_source(task, device, "python", NULL);
    assert_non_null(source);
    if (!compiles(python_parser, ".py", "", source))
        fail_msg("%s", source);
}

static void test_skeletons_of_the_tasks_compile(void **state)
{
    (void)state;
    static const char *const names[] = {"vector_add", "softmax", "matmul"};
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tasks/%s", KGRADE_SOURCE_DIR, names[i]);
        cleanup_task struct task *task = NULL;
        assert_int_equal(task_load(path, &task, NULL), 0);
        assert_opencl_compiles(task);
        assert_cuda_compiles(task);
        assert_python_parses(task, "opencl");
        assert_python_parses(task, "cuda");
    }
}

static void test_no_name_gets_in_the_way(void **state)
{
    (void)state;
    cleanup_task struct task *task = parse(awkward);
    assert_opencl_compiles(task);
    assert_cuda_compiles(task);
    assert_python_parses(task, "opencl");
    assert_python_parses(task, "cuda");
}

static void test_python_is_written_for_what_it_is_run_on(void **state)
{
    (void)state;
    static const char *const facts[] = {
        "build_kernel out, f16, [ceil_div(items, 3) + 1, max(min(index, 4), 1)] row-major\n",
        "def ceil_div(a, b):\n",
        "def compute(items, index, build_kernel, items_, f8, flags, cached_kernel, "
        "kernel_source):\n",
        "/* YOUR WORK: compute build_kernel[index_]. */\n",
        "pyopencl.Program(kernel_source.context, SOURCE).build().compute_\n",
        "items__ = (ceil_div(items, 3) + 1) * (max(min(index, 4), 1))\n",
        ", numpy.int64(items), numpy.int32(index), build_kernel, items_, f8, flags, "
        "numpy.float64(cached_kernel), numpy.int64(items__))\n",
    };
    cleanup_task struct task *task = parse(awkward);
    cleanup_free char *opencl = skeleton_source(task, "opencl", "python:jax", NULL);
    cleanup_free char *cuda = skeleton_source(task, "cuda", "python", NULL);
    assert_true(opencl && cuda);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strstr(opencl, facts[i]))
            fail_msg("\"%s\" is missing in:\n%s", facts[i], opencl);
    assert_non_null(strstr(cuda, "import torch\n"));
    assert_non_null(strstr(
        cuda, "def compute(items, index, build_kernel, items_, f8, flags, cached_kernel):\n"));
    assert_non_null(strstr(cuda, "    build_kernel.zero_()\n"));
}

static void test_hip_has_its_own_names(void **state)
{
    (void)state;
    cleanup_task struct task *task = parse(awkward);
    cleanup_free char *source = skeleton_source(task, "cuda", "hip", NULL);
    cleanup_free char *amd = skeleton_source(task, "hip", NULL, NULL);
    assert_non_null(source);
    assert_non_null(amd);
    assert_string_equal(amd, source);
    assert_non_null(strstr(source, "#include <hip/hip_runtime.h>\n"));
    assert_non_null(strstr(source, "const __hip_bfloat16 *items_"));
    assert_null(strstr(source, "cuda"));
}

static void test_the_header_tells_what_matters(void **state)
{
    (void)state;
    cleanup_task struct task *task = parse(awkward);
    cleanup_free char *source = skeleton_source(task, "opencl", NULL, NULL);
    assert_non_null(source);
    static const char *const facts[] = {
        "a: Ends here * / or not %s.",
        "items_       in, bf16, [items]\n",
        "build_kernel out, f16, [ceil_div(items, 3) + 1, max(min(index, 4), 1)] row-major\n",
        "cached_kernel scalar, f64, always 1.5\n",
        "Every f16 must be within 0 + 0.001 * |expected|; all together within 0.001",
        "YOUR WORK: compute build_kernel[index_]",
        "(shape_ceil_div(items, 3) + 1) * (int64_t)(shape_max(shape_min(index, 4), 1))",
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strstr(source, facts[i]))
            fail_msg("\"%s\" is missing in:\n%s", facts[i], source);
}

static void test_what_cannot_be_made_is_refused(void **state)
{
    (void)state;
    kgrade_error err;
    cleanup_task struct task *task = parse(awkward);
    assert_null(skeleton_source(task, "abacus", NULL, &err));
    assert_string_equal(err.code, "unknown_device");

    cleanup_free char *text = strdup(awkward);
    char *stream = strstr(text, ",{\"name\": \"kernel_source\"");
    char *end = strstr(stream, "],");
    memset(stream, ' ', (size_t)(end - stream));
    cleanup_task struct task *without = parse(text);
    assert_null(skeleton_source(without, "opencl", NULL, &err));
    assert_string_equal(err.code, "task_not_for_device");
    assert_cuda_compiles(without);
}

static int check_compilers(void **state)
{
    (void)state;
    return compiles(c_compiler, ".c", "",
                    "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n") &&
                   compiles(cpp_compiler, ".cpp", "", "#include <cstdint>\n")
               ? 0
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skeletons_of_the_tasks_compile),
        cmocka_unit_test(test_no_name_gets_in_the_way),
        cmocka_unit_test(test_python_is_written_for_what_it_is_run_on),
        cmocka_unit_test(test_hip_has_its_own_names),
        cmocka_unit_test(test_the_header_tells_what_matters),
        cmocka_unit_test(test_what_cannot_be_made_is_refused),
    };
    if (check_compilers(NULL)) {
        puts("skipped: cc, c++ and CL/cl.h are needed; install g++ and opencl-headers");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
