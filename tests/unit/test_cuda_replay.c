/* In which order a replayer makes a sample, with a device that only writes down what is queued. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/batch.h"
#include "grader/devices/cuda/ceilings.h"
#include "grader/devices/cuda/nvml.h"

#define CALL ((CUgraphExec)0x20)
#define EMPTY ((CUgraphExec)0x30)
#define PLACE 0x10000u
#define WORKSPACE 4096u

int replay_main(void); /* main() of the program */

static struct {
    const struct replay_device *device;
    struct task *task;
    struct layout layout;
    /* z: zeros in the workspace, Z: everywhere, i: an input is drawn, o: an output is poisoned, c: a canary, r: what the call had is restored, e: L2 is evicted,
     * X: the call runs, S: it is timed. */
    char order[64];
    size_t n;
    bool faults;
    /* What the arena was to have, and where canaries end. */
    CUdeviceptr fit_from;
    uint64_t fit_bytes, canary_end;
} scene;

static void note(char what)
{
    if (scene.n < sizeof scene.order - 1)
        scene.order[scene.n++] = what;
    scene.order[scene.n] = '\0';
}

static void assert_order(const char *expected)
{
    assert_string_equal(scene.order, expected);
    scene.order[scene.n = 0] = '\0';
}

/* --- the device --- */

int replay_worker_main(const struct replay_device *device)
{
    scene.device = device;
    return 0;
}

int kernels_launch(const struct kernels *kernels, enum kernel_id id, unsigned int blocks,
                   unsigned int threads, struct launch_target *target, void **arguments,
                   kgrade_error *err)
{
    static const char letters[KERNEL_COUNT] = {[KERNEL_FILL] = 'i',
                                               [KERNEL_POISON] = 'o',
                                               [KERNEL_CANARY] = 'c',
                                               [KERNEL_EVICT] = 'e',
                                               [KERNEL_TICKS] = 't'};
    (void)kernels, (void)blocks, (void)threads, (void)target, (void)err;
    note(letters[id]);
    if (id == KERNEL_CANARY) {
        const struct kernels_canary *c = arguments[0];
        scene.canary_end = c->to + c->bytes;
    }
    return 0;
}

static int fault(kgrade_error *err)
{
    snprintf(err->code, sizeof err->code, "kernel_failed");
    return -1;
}

int gate_pass(struct gate *gate, CUgraphExec exec, CUstream stream, kgrade_error *err)
{
    (void)gate, (void)stream;
    if (exec == CALL)
        note('X');
    return exec == CALL && scene.faults ? fault(err) : 0;
}

int gate_sample(struct gate *gate, CUgraphExec exec, CUstream stream, struct replay_sample *ret,
                kgrade_error *err)
{
    (void)gate, (void)stream, (void)ret, (void)err;
    if (exec == CALL)
        note('S');
    return 0;
}

int restore_queue(const struct restore *restore, const struct kernels *kernels,
                  struct launch_target *target, kgrade_error *err)
{
    (void)restore, (void)kernels, (void)target, (void)err;
    note('r');
    return 0;
}

int arena_fit(struct arena *arena, const struct driver_context *context, CUdeviceptr from,
              uint64_t bytes, kgrade_error *err)
{
    (void)arena, (void)context, (void)err;
    scene.fit_from = from;
    scene.fit_bytes = bytes;
    return 0;
}

int arena_clear_scratch(const struct arena *arena, CUstream stream, kgrade_error *err)
{
    (void)arena, (void)stream, (void)err;
    note('z');
    return 0;
}

int arena_clear(const struct arena *arena, CUstream stream, kgrade_error *err)
{
    (void)arena, (void)stream, (void)err;
    note('Z');
    return 0;
}

CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t n, CUstream stream)
{
    (void)at, (void)value, (void)n, (void)stream;
    return CUDA_SUCCESS;
}

int arena_create(struct arena *ret, const struct driver_context *context, uint64_t workspace_bytes,
                 uint64_t case_bytes, kgrade_error *err)
{
    (void)context, (void)err;
    assert_int_equal(workspace_bytes, WORKSPACE);
    *ret = (struct arena){.address = PLACE - WORKSPACE,
                          .bytes = WORKSPACE + case_bytes,
                          .workspace_bytes = WORKSPACE,
                          .memory_fd = -1};
    return 0;
}

int arena_export(const struct arena *arena, int *ret_fd, kgrade_error *err)
{
    (void)arena, (void)err;
    *ret_fd = -1;
    return 0;
}

int rebuild_call(struct rebuilt *ret, const struct rebuild_place *place,
                 const struct recording *recording, const struct recording_call *call,
                 CUstream stream, kgrade_error *err)
{
    (void)place, (void)recording, (void)call, (void)stream, (void)err;
    *ret = (struct rebuilt){.exec = CALL};
    return 0;
}

int rebuild_empty(struct rebuilt *ret, const struct rebuild_place *place, CUstream stream,
                  kgrade_error *err)
{
    (void)place, (void)stream, (void)err;
    *ret = (struct rebuilt){.exec = EMPTY};
    return 0;
}

void rebuilt_close(struct rebuilt *rebuilt)
{
    *rebuilt = (struct rebuilt){.exec = NULL};
}

int batch_open(struct batch *ret, const struct batch_request *request, CUstream stream,
               size_t *ret_n, kgrade_error *err)
{
    (void)stream, (void)err;
    *ret_n = request->n;
    ret->exec = CALL;
    return 0;
}

/* --- what does nothing here --- */

int arena_import(struct arena *ret, const struct driver_context *context, int fd,
                 enum arena_access access, kgrade_error *err)
{
    (void)ret, (void)context, (void)fd, (void)access;
    return fault(err);
}

int batch_run(const struct batch *batch, struct gate *gate, CUstream stream, kgrade_error *err)
{
    (void)batch, (void)gate, (void)stream, (void)err;
    return 0;
}

int restore_open(struct restore *ret, const struct rebuild_place *place,
                 const struct rebuilt *rebuilt, const struct recording *recording,
                 const struct recording_call *call, CUstream stream, kgrade_error *err)
{
    (void)ret, (void)place, (void)rebuilt, (void)recording, (void)call, (void)stream, (void)err;
    return 0;
}

json_t *ceilings_measure(const struct kernels *kernels, const struct driver_context *context,
                         const struct task *task, CUstream stream, kgrade_error *err)
{
    (void)kernels, (void)context, (void)task, (void)stream, (void)err;
    return NULL;
}

int driver_fail(kgrade_error *err, const char *code, CUresult result, const char *what)
{
    (void)code, (void)result, (void)what;
    return fault(err);
}

int driver_open(struct driver_context *ret, unsigned int schedule, kgrade_error *err)
{
    (void)ret, (void)schedule, (void)err;
    return 0;
}

int driver_attribute(const struct driver_context *context, CUdevice_attribute attribute)
{
    (void)context, (void)attribute;
    return 1;
}

const char *driver_kernel_fault(CUresult result)
{
    (void)result;
    return NULL;
}

int kernels_open(struct kernels *ret, const struct driver_context *context, kgrade_error *err)
{
    (void)ret, (void)context, (void)err;
    return 0;
}

unsigned int kernels_blocks(const struct kernels *kernels, uint64_t chunks)
{
    (void)kernels, (void)chunks;
    return 1;
}

int gate_open(struct gate *ret, kgrade_error *err)
{
    (void)ret, (void)err;
    return 0;
}

int gate_wait(CUstream stream, uint64_t deadline, kgrade_error *err)
{
    (void)stream, (void)deadline, (void)err;
    return 0;
}

int gate_fail(kgrade_error *err, CUresult result, const char *what)
{
    (void)result, (void)what;
    return fault(err);
}

struct nvml *nvml_open(const struct driver_context *context)
{
    (void)context;
    return NULL;
}

json_t *nvml_health(const struct nvml *nvml)
{
    (void)nvml;
    return NULL;
}

void nvml_driver_version(const struct nvml *nvml, char *ret, size_t size)
{
    (void)nvml;
    snprintf(ret, size, "1");
}

unsigned int nvml_max_clock(const struct nvml *nvml, bool memory)
{
    (void)nvml, (void)memory;
    return 1;
}

/* clang-format off */
void arena_close(struct arena *arena) { (void)arena; }
void batch_close(struct batch *batch) { (void)batch; }
void restore_close(struct restore *restore) { (void)restore; }
void kernels_close(struct kernels *kernels) { (void)kernels; }
void gate_close(struct gate *gate) { (void)gate; }
void nvml_close(struct nvml *nvml) { (void)nvml; }
void driver_close(struct driver_context *context) { (void)context; }
void driver_trace(const char *format, ...) { (void)format; }
CUresult cuMemAlloc(CUdeviceptr *ret, size_t n) { (void)n; *ret = 0x8000; return CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr at) { (void)at; return CUDA_SUCCESS; }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n) { (void)from; memset(to, 0, n); return CUDA_SUCCESS; }
CUresult cuStreamCreate(CUstream *ret, unsigned int flags) { (void)flags; *ret = NULL; return CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream stream) { (void)stream; return CUDA_SUCCESS; }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { (void)limit, (void)value; return CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache(void) { return CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *ret, int size, CUdevice device) { (void)device; snprintf(ret, (size_t)size, "card"); return CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(size_t *ret, CUdevice device) { (void)device; *ret = 1; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *ret) { *ret = 1; return CUDA_SUCCESS; }
/* clang-format on */

/* --- */

static const char text[] =
    "{\"name\": \"t\", \"title\": \"T\", \"entry\": \"f\","
    " \"parameters\": [{\"name\": \"x\", \"kind\": \"in\", \"dtype\": \"f32\", \"shape\": [\"n\"],"
    " \"values\": {\"distribution\": \"uniform\"}},"
    " {\"name\": \"y\", \"kind\": \"out\", \"dtype\": \"f32\", \"shape\": [\"n\"]},"
    " {\"name\": \"n\", \"kind\": \"dim\", \"dtype\": \"i64\"}],"
    " \"cases\": {\"correctness\": [{\"n\": 5}], \"benchmark\": [{\"n\": 5}]},"
    " \"tolerance\": {\"f32\": {\"absolute\": 0, \"relative\": 1e-6, \"norm\": 1e-6, \"why\": "
    "\"so\"}},"
    " \"roofline\": {\"bytes\": \"n\", \"operations\": \"0\"}, \"workspace_bytes\": 4096}";

static int set_up(void **state)
{
    static const int64_t dims[] = {5};
    json_t *info;
    int fd;
    kgrade_error err;
    memset(&scene, 0, sizeof scene);
    if (replay_main() || task_parse(text, strlen(text), "text", &scene.task, &err) ||
        task_layout(scene.task, dims, &scene.layout, &err) || scene.device->start(&err) ||
        scene.device->open(scene.task, scene.layout.bytes, -1, state, &info, &fd, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    json_decref(info);
    scene.order[scene.n = 0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    scene.device->close(*state);
    task_free(scene.task);
    return 0;
}

static int load(void *state, kgrade_error *err)
{
    struct recording_buffer buffers[] = {{.address = PLACE - 1024, .bytes = 512},
                                         {.address = PLACE - 3072, .bytes = 512}};
    const struct recording_call call = {.buffers = buffers, .n_buffers = 2};
    return scene.device->load(state, NULL, &call, &scene.layout, err);
}

static void sample(void *state)
{
    struct replay_sample ret;
    kgrade_error err;
    assert_int_equal(scene.device->prepare(state, 1, 2, true, &err), 0);
    assert_int_equal(scene.device->run(state, false, &ret, &err), 0);
}

static void inputs_are_drawn_before_each_sample(void **state)
{
    kgrade_error err;
    size_t n = 3;
    assert_int_equal(load(*state, &err), 0);
    assert_order("Z");
    sample(*state);
    assert_order("zicocrX"
                 "zicocreS");
    sample(*state);
    assert_order("zicocreS");
    assert_int_equal(scene.device->batch(*state, 1, 2, false, &n, &err), 0);
    assert_int_equal(n, 3);
}

/* From the moment on at which others may have put inputs there nothing but the sample itself runs, and nothing is written over them. */
static void inputs_that_are_there_stay(void **state)
{
    kgrade_error err;
    size_t n = 3;
    assert_int_equal(scene.device->feed(*state, NULL, 0, &err), 0);
    assert_order("");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load(*state, &err), 0);
        assert_order("Z"
                     "zicocrX");
        sample(*state);
        assert_order("zcocreS");
        sample(*state);
        assert_order("zcocreS");
    }
    assert_int_equal(scene.device->batch(*state, 1, 2, false, &n, &err), 0);
    assert_int_equal(n, 0);
}

static void a_call_that_is_loaded_before_runs_when_it_is_known(void **state)
{
    kgrade_error err = {.code = ""};
    static const uint8_t file[1];
    assert_int_equal(load(*state, &err), 0);
    assert_int_equal(scene.device->feed(*state, file, sizeof file, &err), -1);
    assert_string_equal(err.code, "wire_invalid");
    assert_order("Z");
    assert_int_equal(scene.device->feed(*state, NULL, 0, &err), 0);
    assert_order("zicocrX");
    assert_int_equal(scene.device->feed(*state, NULL, 0, &err), 0);
    sample(*state);
    assert_order("zcocreS");
}

/* What is mapped has a value of ours before each sample, so that nothing a replay writes to is there for the next one. */
static void the_workspace_is_what_the_call_needs(void **state)
{
    kgrade_error err = {.code = ""};
    const struct layout_buffer *last = &scene.layout.buffers[scene.layout.n_buffers - 1];
    assert_int_equal(load(*state, &err), 0);
    assert_int_equal(scene.fit_from, PLACE - 3072);
    assert_int_equal(scene.fit_bytes, 2560);
    assert_true(last->offset + last->bytes + last->canary < scene.layout.bytes);
    sample(*state);
    assert_int_equal(scene.canary_end, PLACE + scene.layout.bytes);
    const struct recording_call none = {.n_buffers = 0};
    assert_int_equal(scene.device->load(*state, NULL, &none, &scene.layout, &err), 0);
    assert_int_equal(scene.fit_bytes, 0);
    struct recording_buffer beyond = {.address = PLACE, .bytes = UINT64_MAX};
    const struct recording_call hostile = {.buffers = &beyond, .n_buffers = 1};
    assert_int_equal(scene.device->load(*state, NULL, &hostile, &scene.layout, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
}

static void a_call_that_faults_is_not_run_again(void **state)
{
    kgrade_error err = {.code = ""};
    assert_int_equal(scene.device->feed(*state, NULL, 0, &err), 0);
    scene.faults = true;
    assert_int_equal(load(*state, &err), -1);
    assert_string_equal(err.code, "kernel_failed");
    assert_order("Z"
                 "zicocrX");
    assert_int_equal(load(*state, &err), -1);
    assert_string_equal(err.code, "device_failed");
    assert_order("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inputs_are_drawn_before_each_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inputs_that_are_there_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_is_loaded_before_runs_when_it_is_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_workspace_is_what_the_call_needs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_faults_is_not_run_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
