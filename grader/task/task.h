/*
 * A task: a problem that kernels are written for.
 *
 * A task is a folder with task.json, reference.c, statement.md and, per device, a baseline and
 * perhaps a reference that runs on it. task.json is read by task_load (from a folder) or task_parse
 * (from text, which is how workers inside a jail get it); docs: tasks/README.md, schema:
 * tasks/task.schema.json.
 */
#ifndef KGRADE_TASK_H
#define KGRADE_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"
#include "../../sandbox/base/io.h"
#include "dtype.h"
#include "expr.h"

#define TASK_MAX_PARAMS 24
#define TASK_MAX_RANK 6
#define TASK_MAX_CASES 32
#define TASK_MAX_HIDDEN_RANGES 8
#define TASK_MAX_TOLERANCES 8
#define TASK_MAX_FILE_BYTES (256u << 10)
#define TASK_MAX_PYTHON_FILES 8
#define TASK_MAX_CASE_BYTES (64ull << 30) /* all buffers of one case together */
#define TASK_MAX_DIM (1ll << 40)          /* value of an i64 dim; an i32 dim ends at INT32_MAX */

enum param_kind {
    PARAM_IN,     /* buffer, must be unchanged afterwards */
    PARAM_OUT,    /* buffer, must be fully written */
    PARAM_INOUT,  /* buffer, read and written */
    PARAM_DIM,    /* integer by value; i32 or i64; the case gives the value */
    PARAM_SCALAR, /* number by value, the same in every case; f32, f64, i32 or i64 */
    PARAM_STREAM, /* the device's queue: cudaStream_t, cl_command_queue */
};

/* How the values of a buffer are drawn; see values.h for what each gives, exactly. */
enum distribution_kind {
    DISTRIBUTION_UNIFORM,     /* [0, 1) * scale + offset */
    DISTRIBUTION_NORMAL,      /* mean 0, deviation 1, * scale + offset */
    DISTRIBUTION_INTEGER,     /* uniform integers low..high, both included */
    DISTRIBUTION_PERMUTATION, /* 0..count-1 in a random order, * scale + offset; never the identity
                                 for count > 1 */
    DISTRIBUTION_SORTED,      /* ascending uniforms in [0, 1), * scale + offset */
};

struct distribution {
    enum distribution_kind kind;
    double scale, offset;
    int64_t low, high; /* DISTRIBUTION_INTEGER */
};

struct param {
    char *name;
    enum param_kind kind;
    enum dtype dtype;                  /* of elements or of the value; unused for PARAM_STREAM */
    size_t rank;                       /* buffers */
    struct expr *shape[TASK_MAX_RANK]; /* over the dims */
    struct distribution values;        /* PARAM_IN, PARAM_INOUT */
    double scalar;                     /* PARAM_SCALAR; already rounded to dtype */
};

static inline bool param_is_buffer(const struct param *param)
{
    return param->kind == PARAM_IN || param->kind == PARAM_OUT || param->kind == PARAM_INOUT;
}

const char *param_kind_name(enum param_kind kind);               /* "in", ... */
const char *distribution_kind_name(enum distribution_kind kind); /* "uniform", ... */

enum case_kind { CASE_CORRECTNESS, CASE_BENCHMARK, CASE_HIDDEN };

const char *case_kind_name(enum case_kind kind); /* "correctness", ... */

/* One set of dimensions.  dims[i] belongs to the i-th PARAM_DIM parameter, in call order. */
struct task_case {
    enum case_kind kind;
    int64_t dims[TASK_MAX_PARAMS];
    char devices[64]; /* "" for all, else names separated by spaces */
    size_t values;    /* what inputs are drawn from; see task_draw_from */
};

/* Hidden cases: drawn by task_draw_hidden from these ranges. */
struct hidden_range {
    char devices[64];
    size_t count;
    int64_t low[TASK_MAX_PARAMS], high[TASK_MAX_PARAMS], multiple[TASK_MAX_PARAMS];
    bool has_values;                             /* other values than the parameters' own */
    struct distribution values[TASK_MAX_PARAMS]; /* by parameter */
};

/* An output passes when every element has |got - expected| <= absolute + relative * |expected|, and
 * ||got - expected||2 <= norm * ||expected||2.  Non-finite values must match the reference exactly.
 */
struct tolerance {
    enum dtype dtype;
    double absolute, relative, norm;
    unsigned
        precision; /* explicit mantissa bits to which a kernel may round its inputs; 0: not said */
};

/* A file of a task's folder. */
struct task_file {
    char name[256];
    struct bytes content;
};

struct task {
    char *name; /* folder name: [a-z0-9_]{1,64} */
    char *title;
    char *statement;         /* text of statement.md; "" when parsed from text alone */
    char *entry;             /* C identifier */
    char *text;              /* task.json as read, for workers */
    char hash[65];           /* SHA-256 of all files, hex; "" when parsed from text */
    struct task_file *files; /* as they were when the hash was made: nothing is read again later */
    size_t n_files;
    struct param params[TASK_MAX_PARAMS];
    size_t n_params;
    size_t n_dims;
    struct task_case cases[TASK_MAX_CASES]; /* correctness first, then benchmark */
    size_t n_cases;
    struct hidden_range hidden[TASK_MAX_HIDDEN_RANGES];
    size_t n_hidden;
    struct tolerance tolerances[TASK_MAX_TOLERANCES];
    size_t n_tolerances;
    struct expr *roofline_bytes;      /* compulsory device-memory traffic of one call */
    struct expr *roofline_operations; /* useful arithmetic operations of one call */
    uint64_t workspace_bytes;         /* what a candidate may allocate on the device */
    char devices[64];                 /* devices the task is for; "" for all */
    /* Of a foreign task, whose inputs and answers come from Python: the member "python" of task.json, see parse.h; inputs
     * have no distribution then.  NULL: none. */
    json_t *python;
};

/* The files of a foreign task, as a JSON object {"files": {NAME: TEXT, ...}}; NULL without memory, or when the task was
 * parsed from text.  The caller frees. */
char *task_python_files(const struct task *task);

/* Reads tasks/NAME.  Every error names the file, the line or the JSON path, and the fix. Codes:
 * `unknown_task` (no such folder), `task_invalid`. */
int task_load(const char *folder, struct task **ret, kgrade_error *err);

/* Reads the text of a task.json; `origin` names it in errors. */
int task_parse(const char *text, size_t size, const char *origin, struct task **ret,
               kgrade_error *err);

void task_free(struct task *task);
static inline void cleanup_task_(struct task **task)
{
    task_free(*task);
}
#define cleanup_task __attribute__((cleanup(cleanup_task_)))

/* "reference.c", "baseline.cu", ...; NULL: the task has no such file. */
const struct bytes *task_file(const struct task *task, const char *name);

/* Whether `devices` ("" or a list separated by spaces) includes the device. */
bool task_devices_include(const char *devices, const char *device);

const struct tolerance *task_tolerance(const struct task *task, enum dtype dtype); /* NULL: exact */

/* Values of all dims by name, for expressions. */
struct expr_scope task_scope(const struct task *task, const int64_t *dims);

/* Draws the hidden cases of a grade for a device: the same seed gives the same cases, no two alike.
 * Returns how many were written to ret: what the task asks for, or fewer when its ranges hold fewer
 * different sizes. */
size_t task_draw_hidden(const struct task *task, const char *device, uint64_t seed,
                        struct task_case ret[TASK_MAX_CASES]);

/* {"n": 1024, ...} for messages and results.  New reference. */
json_t *task_dims_json(const struct task *task, const int64_t *dims);

/*
 * Where the buffers of a case lie in the arena.  Each buffer starts on a page and is followed by
 * the rest of its last page (at least LAYOUT_CANARY bytes), which holds a canary pattern, and by
 * one guard page.
 */
#define LAYOUT_PAGE 4096u
#define LAYOUT_CANARY 64u

struct layout_buffer {
    size_t param;    /* index into task->params */
    uint64_t offset; /* from the start of the arena */
    uint64_t count;  /* elements */
    uint64_t bytes;  /* count * dtype_size */
    uint64_t canary; /* bytes of canary behind the data */
    struct distribution
        values; /* PARAM_IN, PARAM_INOUT: the parameter's own, or by task_draw_from */
};

struct layout {
    struct layout_buffer buffers[TASK_MAX_PARAMS];
    size_t n_buffers;
    uint64_t bytes; /* of the whole case, a multiple of LAYOUT_PAGE */
};

/* -1 with `case_invalid` when a shape is negative, overflows, or the case is larger than
 * TASK_MAX_CASE_BYTES. */
int task_layout(const struct task *task, const int64_t *dims, struct layout *ret,
                kgrade_error *err);

/* The bytes of the largest of the cases, at least a page. */
int task_largest(const struct task *task, const struct task_case *cases, size_t n, uint64_t *ret,
                 kgrade_error *err);

/* Whose values the buffers of a layout hold.  0: the parameters' own; k: those of the task's k-th hidden range, from 1.
 * -1 with `case_invalid` when there is no such range. */
int task_draw_from(const struct task *task, size_t values, struct layout *layout,
                   kgrade_error *err);

#endif
