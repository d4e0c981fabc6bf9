/* What a module tells of its kernels, against what ptxas says while it makes the module. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/devices/cuda/cubin.h"
#include "sandbox/base/io.h"

static const char *const kernels[] = {"plain", "shared_array", "spilling", "indexed"};

/* The number before `unit` in the report on the kernel; 0 when it is not mentioned. */
static unsigned said(const char *report, const char *kernel, const char *unit)
{
    char start[128];
    snprintf(start, sizeof start, "Compiling entry function '%s'", kernel);
    const char *from = strstr(report, start);
    assert_non_null(from);
    const char *to = strstr(from + 1, "Compiling entry function");
    const char *at = strstr(from, unit);
    if (!at || (to && at > to))
        return 0;
    while (at > from && at[-1] == ' ')
        at--;
    while (at > from && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return (unsigned)strtoul(at, NULL, 10);
}

static void compile(const char *target, const char *cubin, char *report, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command,
             "'%s' -arch=%s -cubin -Xptxas -v -o '%s' '%s/tests/unit/resources.cu' 2>&1",
             KGRADE_NVCC, target, cubin, KGRADE_SOURCE_DIR);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(report, 1, size - 1, p);
    report[n] = 0;
    if (pclose(p))
        fail_msg("nvcc failed:\n%s", report);
}

static void check_target(const char *target)
{
    static char report[1 << 16];
    char path[] = "/tmp/kgrade-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    compile(target, path, report, sizeof report);
    struct bytes file = {0};
    kgrade_error error;
    assert_int_equal(io_read_file(path, 1 << 24, &file, &error), 0);
    unlink(path);
    struct cubin cubin;
    assert_true(cubin_parse(file.data, file.size, &cubin));
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        struct cubin_resources r = {0};
        assert_true(cubin_kernel_resources(&cubin, kernels[i], &r));
        unsigned spilled = said(report, kernels[i], " bytes spill stores") +
                           said(report, kernels[i], " bytes spill loads");
        printf("%s %s: %u registers, %u bytes of stack, %lu shared, %u spill instructions for %u "
               "bytes\n",
               target, kernels[i], r.registers, r.stack_bytes, (unsigned long)r.shared_bytes,
               r.spills, spilled);
        assert_int_equal(r.registers, said(report, kernels[i], " registers"));
        assert_int_equal(r.stack_bytes, said(report, kernels[i], " bytes stack frame"));
        assert_int_equal(r.shared_bytes, said(report, kernels[i], " bytes smem"));
        /* An instruction moves 4 to 16 bytes. */
        assert_true(r.spills * 4 <= spilled && r.spills * 16 >= spilled);
    }
    struct cubin_resources none;
    assert_false(cubin_kernel_resources(&cubin, "nothing", &none));
    bytes_free(&file);
}

static void test_ampere(void **state)
{
    (void)state;
    check_target("sm_80");
}

static void test_hopper(void **state)
{
    (void)state;
    check_target("sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ampere),
        cmocka_unit_test(test_hopper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
