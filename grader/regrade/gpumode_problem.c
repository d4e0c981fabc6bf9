/* GPU MODE: from a problem's task.yml and its Python files to a problem that can be made a task of. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "files.h"
#include "gpumode.h"
#include "problem.h"

#define REFERENCE "reference.py"
#define MOST_PARTS 16u
/* The seeds of the board's cases are below it.  A generator may take a seed for more than one (sort: for a mean), and what it
 * makes of large ones no longer tells answers apart. */
#define SEEDS 100000
/* What a PyTorch operator may allocate besides. */
#define WORKSPACE_BYTES (4ll << 30)

/* Calls are recorded, and references were not written for that: what of theirs reads from the host's memory or waits for the
 * device is done another way where it has one. */
static const char of_reference[] =
    "import os\n"
    "# PyTorch wants it for what is deterministic.\n"
    "os.environ.setdefault(\"CUBLAS_WORKSPACE_CONFIG\", \":4096:8\")\n"
    "torch = sys.modules.get(\"torch\")\n"
    "constants = {}\n"
    "\n"
    "def constant(*data, **how):\n"
    "    # A copy of the host's memory has no place in a recording: the first call's is kept.\n"
    "    if hasattr(data[0], \"data_ptr\"):\n"
    "        return tensor(*data, **how)\n"
    "    key = repr((data, how))\n"
    "    if key not in constants:\n"
    "        constants[key] = tensor(*data, **how)\n"
    "    return constants[key]\n"
    "\n"
    "def count(values, weights=None, minlength=0):\n"
    "    # Without waiting for the largest number, which is below minlength in these problems.\n"
    "    if weights is not None or not minlength:\n"
    "        return bincount(values, weights, minlength)\n"
    "    index = values.long()\n"
    "    counts = torch.zeros(minlength, dtype=torch.int64, device=values.device)\n"
    "    return counts.scatter_add_(0, index, torch.ones_like(index))\n"
    "\n"
    "if torch:\n"
    "    tensor, torch.tensor = torch.tensor, constant\n"
    "    bincount, torch.bincount = torch.bincount, count\n"
    "\n"
    "def custom_kernel(data):\n"
    "    return sys.modules[\"reference\"].ref_kernel(data)";
static const char of_solution[] = "custom_kernel = sys.modules[\"solution\"].custom_kernel";

static int cannot(struct regrade_carried *ret, const char *code, const char *message)
{
    *ret = (struct regrade_carried){.skip_code = code, .skip_message = message};
    return 0;
}

/* --- Files -------------------------------------------------------------------------------------- */

/* DIRECTORY/SOURCE without "." and "..", which the caller frees; NULL when it leads out of the root, or is without memory. */
static char *resolve(const char *directory, const char *source)
{
    cleanup_free char *whole = regrade_path(directory, source);
    const char *parts[MOST_PARTS];
    size_t n = 0, size = 1;
    char *rest = whole;
    for (char *part; rest && (part = strsep(&rest, "/"));) {
        if (!*part || !strcmp(part, "."))
            continue;
        bool up = !strcmp(part, "..");
        if (up ? n == 0 : n == MOST_PARTS)
            return NULL;
        if (up)
            n--;
        else
            parts[n++] = part;
    }
    for (size_t i = 0; i < n; i++)
        size += strlen(parts[i]) + 1;
    char *path = whole && *source != '/' ? calloc(1, size) : NULL;
    for (size_t i = 0; path && i < n; i++) {
        strcat(path, i ? "/" : "");
        strcat(path, parts[i]);
    }
    return path;
}

static bool is_plain(const char *name)
{
    return name && !strchr(name, '/') && name[0] != '.' && strlen(name) < REGRADE_MAX_TASK_NAME;
}

/* The text of a problem's file; NULL: it is none that can be carried. */
static json_t *read_text(const char *root, const char *directory, const char *source)
{
    cleanup_free char *inner = resolve(directory, source);
    cleanup_free char *path = inner ? regrade_path(root, inner) : NULL;
    cleanup_bytes struct bytes text = {0};
    if (!path || regrade_read_file(path, REGRADE_MAX_PROBLEM_BYTES, &text, NULL))
        return NULL;
    return json_stringn((const char *)text.data, text.size);
}

/* Takes in the reference, or the other files.  false: one cannot be carried. */
static bool collect(const char *root, const char *directory, const json_t *description,
                    bool reference, json_t *files)
{
    const char *harness =
        json_string_value(json_object_get(json_object_get(description, "config"), "main"));
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(description, "files"), i, file)
    {
        const char *name = json_string_value(json_object_get(file, "name"));
        const char *source = json_string_value(json_object_get(file, "source"));
        if (!name || !source || reference != !strcmp(name, REFERENCE) ||
            !strcmp(source, "@SUBMISSION@") || (harness && !strcmp(name, harness)))
            continue;
        json_t *text = is_plain(name) && gpumode_ends_with(name, ".py")
                           ? read_text(root, directory, source)
                           : NULL;
        if (!text || json_object_set_new(files, name, text))
            return false;
    }
    return json_object_size(files) <= REGRADE_MAX_PROBLEM_FILES;
}

/* --- The problem -------------------------------------------------------------------------------- */

/* What the folder has of a good solution for a device that the reference does not run on; NULL: nothing. */
static json_t *solution(const char *root, const char *directory)
{
    cleanup_free char *below = regrade_path(directory, "solutions/correct");
    cleanup_free char *folder = below ? regrade_path(root, below) : NULL;
    cleanup_names struct regrade_names names = {0};
    if (!regrade_is_folder(folder) || regrade_names_read(folder, &names, NULL))
        return NULL;
    for (size_t i = 0; i < names.n; i++)
        if (gpumode_ends_with(names.list[i], ".py"))
            return read_text(root, below, names.list[i]);
    return NULL;
}

/* The solution, with those of the problem's files that it may import; the caller frees. */
static char *module_of(json_t *solution, const json_t *files)
{
    json_auto_t *all = json_copy((json_t *)files);
    if (!strstr(json_string_value(solution), "reference"))
        json_object_del(all, REFERENCE);
    return all && !json_object_set(all, "solution.py", solution)
               ? regrade_one_module(all, of_solution)
               : NULL;
}

/* With its reference as the candidate; on OpenCL, which no reference in PyTorch or NumPy runs on, a solution. */
static json_t *baselines_of(const char *root, const char *directory, const json_t *files,
                            bool needs_cuda)
{
    json_auto_t *other = needs_cuda ? NULL : solution(root, directory);
    cleanup_free char *module = regrade_one_module(files, of_reference);
    cleanup_free char *second = other ? module_of(other, files) : NULL;
    return module ? json_pack("{s:s, s:s*}", "cuda", module, "opencl", second) : NULL;
}

/* Whether the last of a call's data is where the answer goes: told by the name under which the reference takes it out,
 * "a, b, output = data". */
static bool has_output(const char *reference)
{
    static const char *const names[] = {"output", "out", "c", "C", "c_ref", "y"};
    const char *function = strstr(reference, "def ref_kernel");
    const char *end = function ? strstr(function, " = data\n") : NULL, *begin = end;
    while (begin && begin > function && !strchr(" ,\n(", begin[-1]))
        begin--;
    bool several = begin && begin - function > 2 && begin[-1] == ' ' && begin[-2] == ',';
    for (size_t i = 0; several && i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == (size_t)(end - begin) &&
            !strncmp(names[i], begin, strlen(names[i])))
            return true;
    return false;
}

static json_t *describe(const char *board, const json_t *description, const json_t *files,
                        bool needs_cuda)
{
    const char *reference = json_string_value(json_object_get(files, REFERENCE));
    json_t *json = json_pack("{s:s+, s:s, s:s, s:s, s:s, s:{s:O, s:O}, s:{s:f, s:f, s:f, s:s}}",
                             "title", "GPU MODE: ", board, "form", "data", "entry", "custom_kernel",
                             "inputs", "generate_input", "reference", "ref_kernel", "cases",
                             "correctness", json_object_get(description, "tests"), "benchmark",
                             json_object_get(description, "benchmarks"), "tolerance", "absolute",
                             1e-3, "relative", 1e-3, "norm", 1e-3, "why",
                             "The board's own function decides where there is one.");
    if (json && regrade_defines(reference, "check_implementation"))
        json_object_set_new(json, "check", json_string("check_implementation"));
    if (json)
        json_object_set_new(json, "seeds", json_integer(SEEDS));
    if (json && has_output(reference))
        json_object_set_new(json, "output", json_string("last"));
    if (json && needs_cuda) {
        json_object_set_new(json, "devices", json_pack("[s]", "cuda"));
        json_object_set_new(json, "workspace_bytes", json_integer(WORKSPACE_BYTES));
    }
    return json;
}

static int carry(const char *root, const char *directory, const char *board,
                 const json_t *description, const json_t *files, const struct regrade_sink *sink,
                 struct regrade_carried *ret, kgrade_error *err)
{
    const char *words = json_string_value(json_object_get(description, "description"));
    /* Helpers beside it speak of cards without needing one. */
    bool needs_cuda = strstr(json_string_value(json_object_get(files, REFERENCE)), "cuda") != NULL;
    cleanup_free char *name = regrade_task_name(GPUMODE_PREFIX, board), *statement = NULL,
                      *origin = regrade_path(root, directory);
    json_auto_t *json = describe(board, description, files, needs_cuda);
    json_auto_t *baselines = baselines_of(root, directory, files, needs_cuda);
    if (asprintf(&statement, "# %s\n\n%s\n", board, words ? words : "") < 0)
        statement = NULL; /* which is undefined now */
    if (!name || !statement || !origin || !json || !baselines)
        return fail(err, "out_of_memory", NULL, "There is no memory for a problem.");
    const struct regrade_problem problem = {
        .name = name,
        .origin = origin,
        .json = json,
        .files = files,
        .baselines = baselines,
        .statement = statement,
    };
    return regrade_carry(sink, &problem, ret, err);
}

int gpumode_carry(const char *root, const char *directory, const char *board,
                  const json_t *description, const struct regrade_sink *sink,
                  struct regrade_carried *ret, kgrade_error *err)
{
    const char *language = json_string_value(json_object_get(description, "lang"));
    json_auto_t *files = json_object();
    if (json_is_true(json_object_get(description, "multi_gpu")))
        return cannot(ret, "needs_several_gpus", "Its problem is for several GPUs at a time.");
    if (language && strcmp(language, "py") != 0)
        return cannot(
            ret, "problem_unsupported",
            "Its problem is no module in Python but a program with a harness of its own.");
    if (!json_array_size(json_object_get(description, "tests")) ||
        !json_array_size(json_object_get(description, "benchmarks")))
        return cannot(ret, "problem_unsupported", "Its problem names no tests, or no benchmarks.");
    /* The module with the functions comes first. */
    if (!collect(root, directory, description, true, files) ||
        !collect(root, directory, description, false, files))
        return cannot(ret, "problem_unsupported",
                      "A file of its problem is missing, no module in Python, larger than 256 KiB, "
                      "or lies outside of the problems' folder; or there are more than 8.");
    const char *reference = json_string_value(json_object_get(files, REFERENCE));
    if (!reference || !regrade_defines(reference, "generate_input") ||
        !regrade_defines(reference, "ref_kernel"))
        return cannot(ret, "problem_unsupported",
                      "Its problem has no reference.py with the functions generate_input and "
                      "ref_kernel.");
    return carry(root, directory, board, description, files, sink, ret, err);
}
