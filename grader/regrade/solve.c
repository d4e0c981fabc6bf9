/*
 * Single CUDA files that export `solve` (LeetGPU) or `solution` (Tensara), for tasks of ours.
 *
 * Which problem a file solves is said by its name, or by the names of the folders that it lies in, or by --task.  Its
 * signature must be the one that the platform has for the problem: pointers and numbers in that order.  Then it is included, unchanged, by a
 * few lines that export the task's entry point and call it.  Three macros stand before it: it may use the entry point's name
 * itself; and its waits for the device, which the platforms' examples end with, do nothing, since a call that waits is refused.
 *
 *     FOLDER/... /vector_addition.cu        by its name
 *     FOLDER/... /3_matrix_transpose/a.cu   by its folder's
 *     FOLDER/board.json, .csv               what the board said, optional, as in a plain folder; "file" is the path in FOLDER
 */
#define _GNU_SOURCE
#include "solve.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "candidate.h"
#include "figures.h"
#include "files.h"

#define MOST_LEVELS 6u      /* of folders in folders */
#define MOST_LOOKED_AT 200u /* files, to tell whether a folder is of this kind */

/* f: float, i: an integer, x: anything else; *: a pointer to it. */
static const struct solve_problem problems[] = {
    {"vector_add", "solve", "f*,f*,f*,i", "const float *a, const float *b, float *c, int n",
     "(float *)a, (float *)b, c, n"},
    {"vector_add", "solution", "f*,f*,f*,i", "const float *a, const float *b, float *c, int n",
     "(float *)a, (float *)b, c, n"},
    /* A is M x N and B is N x K there. */
    {"matmul", "solve", "f*,f*,f*,i,i,i",
     "const float *a, const float *b, float *c, int m, int n, int k",
     "(float *)a, (float *)b, c, m, k, n"},
    {"matmul", "solution", "f*,f*,f*,i,i,i",
     "const float *a, const float *b, float *c, int m, int n, int k",
     "(float *)a, (float *)b, c, m, n, k"},
    {"transpose", "solve", "f*,f*,i,i", "const float *x, float *y, int rows, int cols",
     "(float *)x, y, rows, cols"},
    {"reduction", "solve", "f*,f*,i", "const float *x, float *sum, int n", "(float *)x, sum, n"},
    {"prefix_sum", "solve", "f*,f*,i", "const float *input, float *output, int n",
     "(float *)input, output, n"},
    {"prefix_sum", "solution", "f*,f*,i", "const float *input, float *output, int n",
     "(float *)input, output, n"},
    {"histogram", "solve", "i*,i*,i,i", "const int *input, int *bins, int n, int num_bins",
     "(int *)input, bins, n, num_bins"},
    /* Over the last three of four axes there. */
    {"layernorm", "solution", "f*,f*,f*,f*,i,i,i,i",
     "const float *x, const float *weight, const float *bias, float *y, int rows, int cols, float "
     "eps",
     "(float *)x, (float *)weight, (float *)bias, y, rows, cols, 1, 1"},
};

/* What people call the problems, in lower case, words apart. */
static const char *const names[][2] = {
    {"vector addition", "vector_add"},
    {"vector add", "vector_add"},
    {"vectoradd", "vector_add"},
    {"matrix multiply", "matmul"},
    {"vecadd", "vector_add"},
    {"matrix multiplication", "matmul"},
    {"matmul", "matmul"},
    {"matrix transpose", "transpose"},
    {"transpose", "transpose"},
    {"reduction", "reduction"},
    {"prefix sum", "prefix_sum"},
    {"cumsum", "prefix_sum"},
    {"cumulative sum", "prefix_sum"},
    {"histogramming", "histogram"},
    {"histogram", "histogram"},
    {"layer norm", "layernorm"},
    {"layernorm", "layernorm"},
    {"layer normalization", "layernorm"},
};

const struct solve_problem *solve_problems(size_t *ret_n)
{
    *ret_n = sizeof problems / sizeof problems[0];
    return problems;
}

/* --- Names -------------------------------------------------------------------------------------- */

/* "3_Matrix-Transpose.cu" as "matrix transpose": words, without numbers and the extension. */
static void normalize(const char *name, char *ret, size_t size)
{
    size_t n = 0;
    const char *end = strrchr(name, '.');
    if (!end)
        end = name + strlen(name);
    for (const char *c = name; c < end && n + 2 < size; c++) {
        bool upper_begins = isupper((unsigned char)*c) && c > name && islower((unsigned char)c[-1]);
        if (isalpha((unsigned char)*c)) {
            if (upper_begins && n && ret[n - 1] != ' ')
                ret[n++] = ' ';
            ret[n++] = (char)tolower((unsigned char)*c);
        } else if (n && ret[n - 1] != ' ' && !isdigit((unsigned char)*c)) {
            ret[n++] = ' ';
        }
    }
    while (n && ret[n - 1] == ' ')
        n--;
    ret[n] = 0;
}

const char *solve_task_of(const char *name)
{
    char words[128];
    normalize(name, words, sizeof words);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(words, names[i][0]))
            return names[i][1];
    return NULL;
}

/* The task of a path below the source, from its last part to its first. */
static const char *task_of_path(const char *path)
{
    cleanup_free char *copy = strdup(path);
    while (copy && *copy) {
        char *slash = strrchr(copy, '/');
        const char *task = solve_task_of(slash ? slash + 1 : copy);
        if (task)
            return task;
        if (!slash)
            return NULL;
        *slash = 0;
    }
    return NULL;
}

/* --- Signatures --------------------------------------------------------------------------------- */

/* The source without comments and strings, each of which becomes a space. */
static char *strip(const char *source, size_t size)
{
    char *text = malloc(size + 1), *to = text;
    for (size_t i = 0; text && i < size; i++) {
        char c = source[i], next = i + 1 < size ? source[i + 1] : 0;
        if (c == '/' && next == '/') {
            while (i + 1 < size && source[i + 1] != '\n')
                i++;
            *to++ = ' ';
        } else if (c == '/' && next == '*') {
            for (i += 3; i < size && !(source[i - 1] == '*' && source[i] == '/'); i++)
                ;
            *to++ = ' ';
        } else if (c == '"') {
            for (i++; i < size && source[i] != '"' && source[i] != '\n'; i++)
                if (source[i] == '\\')
                    i++;
            *to++ = ' ';
        } else {
            *to++ = c ? c : ' ';
        }
    }
    if (text)
        *to = 0;
    return text;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (!strncmp(text + i, word, length) && (i == 0 || !is_word(text[i - 1])) &&
            (i + length == size || !is_word(text[i + length])))
            return true;
    return false;
}

/* The letter of one parameter, and '*' behind it. */
static void classify(const char *text, size_t size, char ret[4])
{
    static const char *const integers[] = {"int",     "size_t",  "unsigned", "long",
                                           "int32_t", "int64_t", "uint32_t", "uint64_t"};
    char kind = has_word(text, size, "float") ? 'f' : 'x';
    for (size_t i = 0; kind == 'x' && i < sizeof integers / sizeof integers[0]; i++)
        if (has_word(text, size, integers[i]))
            kind = 'i';
    unsigned stars = 0;
    for (size_t i = 0; i < size; i++)
        stars += text[i] == '*' || text[i] == '[';
    if (kind == 'i' && stars &&
        (has_word(text, size, "long") || has_word(text, size, "size_t") ||
         has_word(text, size, "int64_t") || has_word(text, size, "unsigned")))
        kind = 'x'; /* elements of another size or meaning */
    snprintf(ret, 4, "%c%s", stars > 1 ? 'x' : kind, stars ? "*" : "");
}

/* The parameters of a definition whose "(" is at text. */
static bool read_parameters(const char *text, char *ret, size_t size)
{
    size_t used = 0;
    const char *begin = text + 1, *c = begin;
    for (;; c++) {
        if (!*c || *c == '(' || *c == '{' || *c == ';')
            return false;
        if (*c != ',' && *c != ')')
            continue;
        char kind[4];
        classify(begin, (size_t)(c - begin), kind);
        if (used + 4 >= size)
            return false;
        used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? "," : "", kind);
        begin = c + 1;
        if (*c == ')')
            break;
    }
    for (c++; isspace((unsigned char)*c); c++)
        ;
    return *c == '{'; /* a definition, no declaration or call */
}

/* Finds the definition of a function that returns nothing. */
static bool find_definition(const char *text, const char *name, char *ret, size_t size)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        const char *before = at, *after = at + length;
        while (before > text && isspace((unsigned char)before[-1]))
            before--;
        while (isspace((unsigned char)*after))
            after++;
        bool returns_nothing = before - text >= 4 && before < at &&
                               !strncmp(before - 4, "void", 4) &&
                               (before - text == 4 || !is_word(before[-5]));
        if (returns_nothing && *after == '(' && read_parameters(after, ret, size))
            return true;
    }
    return false;
}

const char *solve_signature(const char *source, size_t size, char *ret, size_t ret_size)
{
    static const char *const entries[] = {"solve", "solution"};
    cleanup_free char *text = strip(source, size);
    for (size_t i = 0; text && i < sizeof entries / sizeof entries[0]; i++)
        if (find_definition(text, entries[i], ret, ret_size))
            return entries[i];
    return NULL;
}

/* --- The candidate ------------------------------------------------------------------------------ */

static const char wrapper[] =
    "// The entry point of the task, for a candidate that exports %1$s().\n"
    "#include <cuda_runtime.h>\n"
    "#define %2$s candidate_%2$s\n"
    "static inline cudaError_t candidate_need_not_wait(void) { return cudaSuccess; }\n"
    "#define cudaDeviceSynchronize candidate_need_not_wait\n"
    "#define cudaThreadSynchronize candidate_need_not_wait\n"
    "#include \"submission.cuh\"\n"
    "#undef %2$s\n"
    "\n"
    "extern \"C\" void %2$s(%3$s, cudaStream_t stream)\n"
    "{\n"
    "    (void)stream;\n"
    "%5$s"
    "    %1$s(%4$s);\n"
    "}\n";

int solve_wrap(const struct solve_problem *problem, const char *source, size_t size, char **ret,
               kgrade_error *err)
{
    cleanup_free char *entry = NULL;
    const char *unused = strstr(problem->parameters, "float eps") ? "    (void)eps;\n" : "";
    if (asprintf(&entry, wrapper, problem->entry, problem->task, problem->parameters,
                 problem->arguments, unused) < 0) {
        entry = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for a candidate.");
    }
    /* Older examples include a header of that name. */
    static const char header[] = "#pragma once\n";
    const kgrade_file files[] = {{"entry.cu", entry, strlen(entry)},
                                 {"submission.cuh", source, size},
                                 {"solve.h", header, strlen(header)}};
    return kgrade_bundle(files, sizeof files / sizeof files[0], ret, err);
}

static const struct solve_problem *find_problem(const char *task, const char *entry)
{
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (!strcmp(problems[i].task, task) && !strcmp(problems[i].entry, entry))
            return &problems[i];
    return NULL;
}

/* --- Reading ------------------------------------------------------------------------------------ */

struct reading {
    const char *root, *title;
    const struct regrade_wishes *wishes;
    const struct regrade_sink *sink;
    json_t *figures; /* by file */
};

/* Fills in what is graded, or why nothing is. */
static void prepare(struct regrade_entry *entry, const char *symbol, const char *signature,
                    const struct bytes *source, char **ret_wrapped, kgrade_error *why)
{
    const struct solve_problem *problem = entry->task ? find_problem(entry->task, symbol) : NULL;
    entry->skip_code = why->code;
    entry->skip_message = why->message;
    if (!entry->task) {
        fail_set(
            why, "no_task", NULL,
            "Neither its name nor its folder's is that of a problem like one of kgrade's tasks.");
    } else if (!problem) {
        fail_set(why, "no_task", NULL, "How %s() is called for the task %.64s is not known.",
                 symbol, entry->task);
    } else if (strcmp(problem->types, signature) != 0) {
        fail_set(why, "signature_differs", NULL,
                 "Its %s() does not take what it takes in the problem that is like the task %s.",
                 symbol, entry->task);
    } else if (!solve_wrap(problem, (const char *)source->data, source->size, ret_wrapped, why)) {
        entry->skip_code = entry->skip_message = NULL;
        entry->source = *ret_wrapped;
        entry->source_size = strlen(*ret_wrapped);
        entry->note =
            "Called through a few lines of kgrade's; cudaDeviceSynchronize() does nothing.";
    }
}

static int take_file(const struct reading *r, const char *id, kgrade_error *err)
{
    cleanup_free char *path = regrade_path(r->root, id), *label = regrade_label(id),
                      *wrapped = NULL;
    cleanup_bytes struct bytes source = {0};
    char signature[64];
    kgrade_error why = {0};
    if (!path || !label)
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    enum candidate_read rc = candidate_file(path, &source, &why);
    if (rc == CANDIDATE_FAILED)
        return candidate_pass_on(&why, err);
    const char *symbol =
        rc == CANDIDATE_READ
            ? solve_signature((const char *)source.data, source.size, signature, sizeof signature)
            : NULL;
    if (!symbol && rc == CANDIDATE_READ)
        return 0;
    const char *task = r->wishes->task ? r->wishes->task : task_of_path(id);
    struct regrade_entry entry = {
        .id = label,
        .board = task ? task : "other problems",
        .problem = task ? task : "other problems",
        .author = r->title,
        .files = label,
        .language = "cuda",
        .task = task,
    };
    if (symbol) {
        prepare(&entry, symbol, signature, &source, &wrapped, &why);
    } else {
        entry.skip_code = why.code;
        entry.skip_message = why.message;
    }
    figures_take(json_object_get(r->figures, label), &entry);
    int failed = r->sink->take(r->sink->data, &entry, err);
    json_object_del(r->figures, label);
    return failed;
}

/* Some keep them as .cpp. */
static bool is_cuda(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".cpp"));
}

/* Calls take for every file of CUDA code below; below is a path in root, "" for all of it. */
static int walk(const char *root, const char *below, unsigned level,
                int (*take)(void *data, const char *path, kgrade_error *err), void *data,
                kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    cleanup_free char *folder = regrade_path(root, below);
    if (!folder)
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    if (level > MOST_LEVELS)
        return 0;
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner =
            *below ? regrade_path(below, list.list[i]) : strdup(list.list[i]);
        cleanup_free char *path = inner ? regrade_path(root, inner) : NULL;
        int rc = 0;
        if (regrade_is_folder(path))
            rc = walk(root, inner, level + 1, take, data, err);
        else if (regrade_is_file(path) && is_cuda(inner))
            rc = take(data, inner, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int take_in_walk(void *data, const char *path, kgrade_error *err)
{
    return take_file(data, path, err);
}

/* Splits a path of a file into its folder and its name. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == path ? strdup("/")
           : slash       ? strndup(path, (size_t)(slash - path))
                         : strdup(".");
}

/* What only the board knows. */
static int note_rest(const struct reading *r, kgrade_error *err)
{
    char text[256];
    const char *first = json_object_iter_key(json_object_iter(r->figures));
    if (!first)
        return 0;
    snprintf(text, sizeof text,
             "Records of the board whose files are not there or export no such function: %zu, the "
             "first is %s.",
             json_object_size(r->figures), quote(first).text);
    return r->sink->note(r->sink->data, text, err);
}

static int read_solve(const char *path, const struct regrade_wishes *wishes,
                      const struct regrade_sink *sink, kgrade_error *err)
{
    bool one = regrade_is_file(path);
    cleanup_free char *root = one ? folder_of(path) : strdup(path);
    cleanup_free char *name = root ? regrade_last_part(root) : NULL;
    cleanup_free char *title = name ? regrade_label(name) : NULL, *file = regrade_last_part(path);
    cleanup_figures struct figures figures = {0};
    if (!title || !file)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    if (!one && figures_read(root, &figures, err))
        return -1;
    const char *given = json_string_value(json_object_get(figures.head, "title"));
    const struct regrade_source source = {
        .title = given ? given : title,
        .rule = "score",
        .clock = json_string_value(json_object_get(figures.head, "clock")),
    };
    struct reading reading = {root, source.title, wishes, sink, figures.by_file};
    if (sink->begin(sink->data, &source, err) || figures_note(&figures, source.title, sink, err))
        return -1;
    if (one)
        return take_file(&reading, file, err);
    return walk(root, "", 1, take_in_walk, &reading, err) ? -1 : note_rest(&reading, err);
}

/* --- Recognising -------------------------------------------------------------------------------- */

struct looking {
    const char *root;
    unsigned looked_at;
};

/* 1: it exports one of the names, or enough has been looked at. */
static int look(void *data, const char *name, kgrade_error *err)
{
    (void)err;
    struct looking *l = data;
    cleanup_free char *path = regrade_path(l->root, name);
    cleanup_bytes struct bytes source = {0};
    char signature[64];
    if (!path || regrade_read_file(path, KGRADE_MAX_SOURCE_BYTES, &source, NULL))
        return 0;
    if (solve_signature((const char *)source.data, source.size, signature, sizeof signature))
        return 1;
    return ++l->looked_at >= MOST_LOOKED_AT ? 2 : 0;
}

static bool recognise(const char *path)
{
    if (regrade_is_folder(path))
        return walk(path, "", 1, look, &(struct looking){path, 0}, NULL) == 1;
    cleanup_free char *folder = folder_of(path), *name = regrade_last_part(path);
    return folder && name && regrade_is_file(path) && is_cuda(name) &&
           look(&(struct looking){folder, 0}, name, NULL) == 1;
}

const struct regrade_adapter regrade_leetgpu = {"leetgpu", recognise, read_solve};
