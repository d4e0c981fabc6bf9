#define _GNU_SOURCE
#include <string.h>

#include "lint.h"

/* What a kernel cannot avoid moving: each input is read once, each output written once. */
static uint64_t traffic(const struct task *task, const struct layout *layout)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < layout->n_buffers; i++) {
        const struct layout_buffer *b = &layout->buffers[i];
        bytes += b->bytes * (task->params[b->param].kind == PARAM_INOUT ? 2 : 1);
    }
    return bytes;
}

void lint_roofline(struct lint *l)
{
    for (size_t i = 0; i < l->task->n_cases; i++) {
        const int64_t *dims = l->task->cases[i].dims;
        struct layout layout;
        struct expr_scope scope = task_scope(l->task, dims);
        kgrade_error err = {.code = ""};
        int64_t bytes;
        /* The loader has seen to it that all cases, and those that can be drawn, are within the limits. */
        if (task_layout(l->task, dims, &layout, &err) ||
            expr_eval(l->task->roofline_bytes, &scope, &bytes, &err)) {
            lint_report(l, "roofline", false, "%s: %s", lint_dims(l->task, dims).text, err.message);
            return;
        }
        /* What a foreign reference needs of its inputs is not known. */
        if (l->task->python ? (uint64_t)bytes > traffic(l->task, &layout)
                            : (uint64_t)bytes != traffic(l->task, &layout)) {
            lint_report(l, "roofline", false,
                        "%s: roofline.bytes is %lld, but the buffers hold %llu; with less no "
                        "kernel is ever suspect, with more an honest one is.",
                        lint_dims(l->task, dims).text, (long long)bytes,
                        (unsigned long long)traffic(l->task, &layout));
            return;
        }
    }
    lint_report(l, "roofline", true, "the bytes of %zu cases are %swhat their buffers hold",
                l->task->n_cases, l->task->python ? "no more than " : "");
}
