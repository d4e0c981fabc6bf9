/*
 * AgentKernelArena: from a task with a kernel in Triton to a problem that can be made a task of.
 *
 * Its harness makes the inputs, calls the kernel and compares, all in one function.  That is run with something in the kernel's
 * place that keeps what it is called with: those are the inputs.  The kernel that the task begins with is the reference.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "arena_configs.h"
#include "files.h"
#include "problem.h"

#define PREFIX "arena"
#define HARNESS "scripts/task_runner.py"
/* What most harnesses compare with. */
#define TOLERANCE 1e-2
#define WORKSPACE_BYTES (4ll << 30)

/* Which arguments the kernel writes is found out once, by the generator; a call must not look at contents. */
static const char calling[] =
    "\"\"\"Calls an entry of a task's kernel as its harness does.\"\"\"\n"
    "import torch\n"
    "\n"
    "def tensors_of(value):\n"
    "    if isinstance(value, torch.Tensor):\n"
    "        return [value]\n"
    "    if isinstance(value, dict):\n"
    "        value = list(value.values())\n"
    "    return [t for v in value for t in tensors_of(v)] if isinstance(value, (tuple, list)) else "
    "[]\n"
    "\n"
    "def changed(change, value):\n"
    "    if isinstance(value, dict):\n"
    "        return {k: changed(change, v) for k, v in value.items()}\n"
    "    if type(value) in (tuple, list):\n"
    "        return type(value)(changed(change, v) for v in value)\n"
    "    return change(value)\n"
    "\n"
    "def named(value):  # data may hold texts, and no types\n"
    "    return str(value) if isinstance(value, torch.dtype) else value\n"
    "\n"
    "def meant(value):\n"
    "    is_type = isinstance(value, str) and value.startswith(\"torch.\")\n"
    "    return getattr(torch, value[len(\"torch.\"):]) if is_type else value\n"
    "\n"
    "def is_same(a, b):\n"
    "    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()\n"
    "\n"
    "def call(kernel, data):\n"
    "    name, written, arguments, keywords = changed(meant, data)\n"
    "    passed = tensors_of((arguments, keywords))\n"
    "    returned = tensors_of(getattr(kernel, name)(*arguments, **keywords))\n"
    "    new = [t for t in returned if not any(is_same(t, p) for p in passed)]\n"
    "    outputs = [passed[i] for i in written] + new\n"
    "    return outputs[0] if len(outputs) == 1 else tuple(outputs)\n";

static const char generating[] =
    "\"\"\"What a task's harness calls the kernel with, and the kernel as the reference.\"\"\"\n"
    "import inspect\n"
    "import torch\n"
    "import calling\n"
    "import first_kernel\n"
    "import task_runner\n"
    "\n"
    "kept = next(n for n in (\"TEST_SHAPES\", \"TEST_CASES\", \"SEEDS\") if hasattr(task_runner, "
    "n))\n"
    "shapes = list(getattr(task_runner, kept))\n"
    "seeded = torch.manual_seed\n"
    "\n"
    "class Called(BaseException):  # which no harness catches\n"
    "    def __init__(self, name, arguments, keywords):\n"
    "        self.name, self.arguments, self.keywords = name, arguments, keywords\n"
    "\n"
    "class Kernel:\n"
    "    def __getattr__(self, name):\n"
    "        value = getattr(first_kernel, name)\n"
    "        if name.startswith(\"_\") or not inspect.isfunction(value):\n"
    "            return value\n"
    "        def keep(*arguments, **keywords):\n"
    "            raise Called(name, arguments, keywords)\n"
    "        return keep\n"
    "\n"
    "def called(shape, seed):\n"
    "    task_runner.load_module = lambda *ignored: Kernel()\n"
    "    setattr(task_runner, kept, [shapes[shape]])\n"
    "    torch.manual_seed = lambda given: seeded(given + 1000 * seed)\n"
    "    try:\n"
    "        result = task_runner.run_correctness()\n"
    "    except Called as it:\n"
    "        return it\n"
    "    finally:\n"
    "        torch.manual_seed = seeded\n"
    "    raise RuntimeError(f\"The harness calls no function of the kernel: {result}\")\n"
    "\n"
    "def copied(value):\n"
    "    return value.clone() if isinstance(value, torch.Tensor) else value\n"
    "\n"
    "def generate(shape, seed):\n"
    "    it = called(shape, seed)\n"
    "    before = calling.tensors_of((it.arguments, it.keywords))\n"
    "    arguments, keywords = calling.changed(copied, (it.arguments, it.keywords))\n"
    "    getattr(first_kernel, it.name)(*arguments, **keywords)\n"
    "    after = calling.tensors_of((arguments, keywords))\n"
    "    written = [i for i, (b, a) in enumerate(zip(before, after)) if not torch.equal(b, a)]\n"
    "    return calling.changed(calling.named, (it.name, written, it.arguments, it.keywords))\n"
    "\n"
    "def answer(data):\n"
    "    return calling.call(first_kernel, data)\n";

static const char of_kernel[] = "import calling\nimport first_kernel\n\n"
                                "def custom_kernel(data):\n"
                                "    return calling.call(first_kernel, data)\n";

static json_t *describe(const char *title)
{
    return json_pack("{s:s+, s:s, s:s, s:s, s:s, s:{s:[{s:i}], s:[{s:i}]}, s:{s:f, s:f, s:f, s:s}, "
                     "s:[s], s:I}",
                     "title", "AgentKernelArena: ", title, "form", "data", "entry", "custom_kernel",
                     "inputs", "generate", "reference", "answer", "cases", "correctness", "shape",
                     0, "benchmark", "shape", -1, "tolerance", "absolute", TOLERANCE, "relative",
                     TOLERANCE, "norm", TOLERANCE, "why", "What most of the harnesses allow.",
                     "devices", "cuda", "workspace_bytes", (json_int_t)WORKSPACE_BYTES);
}

/* The text of a file of the task; NULL: it is none that can be carried. */
static json_t *read_text(const char *folder, const char *name)
{
    cleanup_free char *path = regrade_path(folder, name);
    cleanup_bytes struct bytes text = {0};
    if (!path || regrade_read_file(path, REGRADE_MAX_PROBLEM_BYTES, &text, NULL))
        return NULL;
    return json_stringn((const char *)text.data, text.size);
}

/* The one file of the kernel; NULL: it has another form. */
static const char *kernel_file(const json_t *config)
{
    const json_t *paths = json_object_get(config, "source_file_path");
    const char *path = json_string_value(json_array_get(paths, 0)),
               *end = path ? strrchr(path, '.') : NULL;
    bool is_inside = path && *path != '/' && !strstr(path, "..");
    return json_array_size(paths) == 1 && is_inside && end && !strcmp(end, ".py") ? path : NULL;
}

/* In the order of "files": the module with the functions first. */
static json_t *files_of(const char *folder, const json_t *config)
{
    const char *kernel = kernel_file(config);
    json_t *harness = read_text(folder, HARNESS);
    json_t *first = kernel && harness ? read_text(folder, kernel) : NULL;
    const char *text = json_string_value(harness);
    bool has_shapes =
        text && (regrade_defines(text, "TEST_SHAPES") || regrade_defines(text, "TEST_CASES") ||
                 regrade_defines(text, "SEEDS"));
    bool fits = has_shapes && first && regrade_defines(text, "run_correctness") &&
                regrade_defines(text, "load_module");
    if (fits)
        return json_pack("{s:s, s:s, s:o, s:o}", "arena.py", generating, "calling.py", calling,
                         "first_kernel.py", first, "task_runner.py", harness);
    json_decref(harness);
    json_decref(first);
    return NULL;
}

static char *baseline_of(const json_t *files)
{
    json_auto_t *used = json_pack("{s:O, s:O}", "calling.py", json_object_get(files, "calling.py"),
                                  "first_kernel.py", json_object_get(files, "first_kernel.py"));
    return used ? regrade_one_module(used, of_kernel) : NULL;
}

const char *arena_first_candidate(void)
{
    return of_kernel;
}

int arena_carry(const char *folder, const json_t *config, const struct regrade_sink *sink,
                struct regrade_carried *ret, kgrade_error *err)
{
    json_auto_t *files = files_of(folder, config);
    if (!files)
        return 0;
    cleanup_free char *name = regrade_last_part(folder), *statement = NULL;
    cleanup_free char *task = name ? regrade_task_name(PREFIX, name) : NULL;
    cleanup_free char *label = name ? regrade_label(name) : NULL, *baseline = baseline_of(files);
    json_auto_t *json = label ? describe(label) : NULL;
    json_auto_t *baselines = baseline ? json_pack("{s:s}", "cuda", baseline) : NULL;
    if (label &&
        asprintf(&statement,
                 "# AgentKernelArena: %s\n\nWhat the function of first_kernel.py does that "
                 "the data names, with the arguments there.\n",
                 label) < 0)
        statement = NULL; /* which is undefined now */
    if (!task || !statement || !json || !baselines)
        return fail(err, "out_of_memory", NULL, "There is no memory for a problem.");
    const struct regrade_problem problem = {
        .name = task,
        .origin = folder,
        .json = json,
        .files = files,
        .baselines = baselines,
        .statement = statement,
    };
    return regrade_carry(sink, &problem, ret, err);
}
