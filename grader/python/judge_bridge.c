/*
 * The judge of foreign tasks, whose inputs and answers come from Python.
 *
 * It is an interpreter that has been told to load this library (a device's judge, judge/worker.c and what belongs to it)
 * before anything else, and to run problem.py.  That calls kgrade_python_judge_main, which serves the grader as every judge
 * does; what concerns the task is passed to functions of problem.py.  Outputs are compared here, in C.
 *
 * A foreign task was written elsewhere and is not trusted with more than its own verdict: this process has a candidate's jail,
 * and no code of a candidate ever runs in it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../judge/worker.h"

#define EXPORT __attribute__((visibility("default")))

/* What functions answer; check as below. */
enum { FAILED, DONE, CHECK_RIGHT, CHECK_WRONG, CHECK_NONE };

/* As problem.py makes it; each calls kgrade_python_answer, or kgrade_python_fail.  They return nothing: of a function that an
 * exception got out of, ctypes returns what lay in memory. */
struct python_side {
    void (*describe)(const char *problem);
    void (*load)(const char *task, const char *files);
    void (*inputs)(const char *request);
    void (*evaluate)(const char *request);
    void (*check)(const char *request);
};

EXPORT int kgrade_python_judge_main(const struct python_side *side);
EXPORT void kgrade_python_fail(const char *code, const char *message, const char *hint);
EXPORT void kgrade_python_tell(const char *text);
EXPORT void kgrade_python_answer(int answer);
EXPORT int kgrade_python_store(uint64_t at, const void *from, uint64_t bytes);
EXPORT int kgrade_python_fetch(uint64_t at, uint64_t bytes, void *to);

static struct {
    const struct python_side *side;
    kgrade_error error;
    char *told; /* by the function that runs */
    int answer; /* of the function that runs */
} python;

void kgrade_python_fail(const char *code, const char *message, const char *hint)
{
    /* Of several failures the first one is the cause. */
    if (!python.error.code[0])
        fail(&python.error, code, hint, "%s", message);
}

void kgrade_python_tell(const char *text)
{
    free(python.told);
    python.told = strdup(text);
}

void kgrade_python_answer(int answer)
{
    python.answer = answer;
}

/* Copies between the host and a buffer that is on the device, for arrays that are not.  -1: the failure has been noted. */
int kgrade_python_store(uint64_t at, const void *from, uint64_t bytes)
{
    const struct judge_memory *memory = judge_this_device.memory;
    return memory ? memory->store(at, from, bytes, &python.error) : -1;
}

int kgrade_python_fetch(uint64_t at, uint64_t bytes, void *to)
{
    const struct judge_memory *memory = judge_this_device.memory;
    return memory ? memory->fetch(at, bytes, to, &python.error) : -1;
}

/* What the function that has just run answered; FAILED with the error. */
static int take_answer(kgrade_error *err)
{
    int answer = python.answer;
    python.answer = FAILED;
    if (answer != FAILED && !python.error.code[0])
        return answer;
    if (!python.error.code[0])
        fail(&python.error, "reference_failed", "Look at the task's Python files.",
             "The task's Python failed without saying why.");
    *err = python.error;
    python.error = (kgrade_error){.code = ""};
    return FAILED;
}

static int describe(const char *problem, char **ret, kgrade_error *err)
{
    python.side->describe(problem);
    if (take_answer(err) != DONE)
        return -1;
    *ret = steal_pointer(&python.told);
    return *ret ? 0 : fail(err, "out_of_memory", NULL, "No memory for a task.");
}

static int load(const struct task *task, const char *files, kgrade_error *err)
{
    cleanup_free char *text = json_dumps(task->python, JSON_COMPACT);
    if (!text)
        return fail(err, "out_of_memory", NULL, "No memory for the task.");
    python.side->load(text, files);
    return take_answer(err) == DONE ? 0 : -1;
}

static json_t *place(const void *at)
{
    return json_integer((json_int_t)(uintptr_t)at);
}

/* {"NAME": {"address": n, "on_device": bool, "dtype": "f32", "shape": [..]}, ...} for inputs, or for outputs.  at: where the
 * case begins; or by index in the layout where each buffer is. */
static json_t *buffers_json(const struct task *task, const struct judge_case *c, bool outputs,
                            bool on_device, const uint8_t *at, void *const *each)
{
    struct expr_scope scope = task_scope(task, c->dims);
    json_t *buffers = json_object();
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &task->params[b->param];
        if (p->kind == (outputs ? PARAM_IN : PARAM_OUT))
            continue;
        json_t *shape = json_array();
        for (size_t axis = 0; axis < p->rank; axis++) {
            int64_t extent = 0;
            expr_eval(p->shape[axis], &scope, &extent,
                      NULL); /* the layout has computed it before */
            json_array_append_new(shape, json_integer(extent));
        }
        json_object_set_new(buffers, p->name,
                            json_pack("{s:o, s:b, s:s, s:o}", "address",
                                      place(at ? at + b->offset : each[i]), "on_device", on_device,
                                      "dtype", dtype_name(p->dtype), "shape", shape));
    }
    return buffers;
}

/* Steals the reference.  Returns the answer. */
static int ask(void (*function)(const char *request), json_t *request, kgrade_error *err)
{
    cleanup_free char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text) {
        fail(err, "out_of_memory", NULL, "No memory for a request.");
        return FAILED;
    }
    function(text);
    return take_answer(err);
}

static int inputs(const struct task *task, const struct judge_case *c, uint64_t seed,
                  bool on_device, uint8_t *to, kgrade_error *err)
{
    /* A number that every generator of random numbers takes. */
    json_int_t small = (json_int_t)((seed ^ seed >> 31) & INT32_MAX);
    return ask(python.side->inputs,
               json_pack("{s:I, s:I, s:o}", "variant", (json_int_t)c->dims[0], "seed", small,
                         "inputs", buffers_json(task, c, false, on_device, to, NULL)),
               err) == DONE
               ? 0
               : -1;
}

static int evaluate(const struct task *task, const struct judge_case *c, bool on_device,
                    const uint8_t *from, void *const *wide, kgrade_error *err)
{
    return ask(python.side->evaluate,
               json_pack("{s:I, s:o, s:o}", "variant", (json_int_t)c->dims[0], "inputs",
                         buffers_json(task, c, false, on_device, from, NULL), "outputs",
                         buffers_json(task, c, true, on_device, NULL, wide)),
               err) == DONE
               ? 0
               : -1;
}

static int check(const struct task *task, const struct judge_case *c, bool on_device,
                 const uint8_t *from, const uint8_t *outputs, bool *ret_decided, bool *ret_pass,
                 kgrade_error *err)
{
    int answer = ask(python.side->check,
                     json_pack("{s:I, s:o, s:o}", "variant", (json_int_t)c->dims[0], "inputs",
                               buffers_json(task, c, false, on_device, from, NULL), "outputs",
                               buffers_json(task, c, true, on_device, outputs, NULL)),
                     err);
    if (answer < CHECK_RIGHT)
        return -1;
    *ret_decided = answer != CHECK_NONE;
    *ret_pass = answer == CHECK_RIGHT;
    return 0;
}

int kgrade_python_judge_main(const struct python_side *side)
{
    static const struct judge_python functions = {
        .describe = describe, .load = load, .inputs = inputs, .evaluate = evaluate, .check = check};
    python.side = side;
    return judge_worker_main(&judge_this_device, &functions);
}
