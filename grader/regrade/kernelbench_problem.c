/* KernelBench: from the module of a problem to a problem that can be made a task of. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"
#include "kernelbench.h"
#include "problem.h"

#define PREFIX "kernelbench"
#define MODULE "reference.py"
/* What the board's own check seeds with and allows, of fp32 (src/kernelbench/eval.py). */
#define SEED 42
#define TOLERANCE 1e-4
/* For parameters, and for what PyTorch's operators hold between them. */
#define WORKSPACE_BYTES (4ll << 30)

/* A tensor that is made on the card in every call is a copy of the host's memory, which has no place in a recording: of equal numbers the
 * first one is kept. */
static const char constants[] = "\n"
                                "tensor, kept = torch.tensor, {}\n"
                                "\n"
                                "def constant(*data, **how):\n"
                                "    if \"device\" not in how or hasattr(data[0], \"data_ptr\"):\n"
                                "        return tensor(*data, **how)\n"
                                "    key = repr((data, how))\n"
                                "    if key not in kept:\n"
                                "        kept[key] = tensor(*data, **how)\n"
                                "    return kept[key]\n"
                                "\n"
                                "torch.tensor = constant\n";

char *kernelbench_candidate(const char *text)
{
    char *candidate = NULL;
    bool makes = strstr(text, "torch.tensor(") && strstr(text, "device=");
    return asprintf(&candidate, "%s\n\nModelNew = Model\n%s", text, makes ? constants : "") < 0
               ? NULL
               : candidate;
}

static int cannot(struct regrade_carried *ret, const char *message)
{
    *ret = (struct regrade_carried){.skip_code = "problem_unsupported", .skip_message = message};
    return 0;
}

static json_t *describe(const char *name)
{
    char title[112];
    snprintf(title, sizeof title, "KernelBench: %.90s", name);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:{s:[{}], s:[{}]}, s:{s:f, s:f, s:f, "
                     "s:s}, s:I}",
                     "title", title, "form", "model", "entry", "ModelNew", "inputs", "get_inputs",
                     "reference", "Model", "init", "get_init_inputs", "seed", SEED, "cases",
                     "correctness", "benchmark", "tolerance", "absolute", TOLERANCE, "relative",
                     TOLERANCE, "norm", TOLERANCE, "why",
                     "The board's own tolerance for elements, and the same for the norm.",
                     "workspace_bytes", (json_int_t)WORKSPACE_BYTES);
}

int kernelbench_carry(const char *path, unsigned level, unsigned number, const char *name,
                      const struct regrade_sink *sink, struct regrade_carried *ret,
                      kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    char short_name[32];
    if (regrade_read_file(path, REGRADE_MAX_PROBLEM_BYTES, &text, NULL))
        return cannot(ret, "Its problem's file cannot be read, or is larger than 256 KiB.");
    json_auto_t *files = json_pack("{s:s%}", MODULE, (const char *)text.data, text.size);
    const char *module = json_string_value(json_object_get(files, MODULE));
    if (!module || !regrade_defines(module, "Model") || !regrade_defines(module, "get_inputs"))
        return cannot(ret, "Its problem's file has no class Model and no function get_inputs.");
    snprintf(short_name, sizeof short_name, "%u_%u", level, number);
    cleanup_free char *task = regrade_task_name(PREFIX, short_name), *statement = NULL;
    cleanup_free char *candidate = kernelbench_candidate(module);
    json_auto_t *json = describe(name);
    json_auto_t *baselines = json_pack("{s:s?}", "cuda", candidate);
    if (json && !regrade_defines(module, "get_init_inputs"))
        json_object_del(json, "init");
    if (asprintf(&statement,
                 "# KernelBench, level %u: %s\n\nWhat the class Model in reference.py does.\n",
                 level, name) < 0)
        statement = NULL; /* which is undefined now */
    if (!task || !statement || !candidate || !json || !baselines)
        return fail(err, "out_of_memory", NULL, "There is no memory for a problem.");
    const struct regrade_problem problem = {
        .name = task,
        .origin = path,
        .json = json,
        .files = files,
        .baselines = baselines,
        .statement = statement,
    };
    return regrade_carry(sink, &problem, ret, err);
}
