#include "hidden.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "jails.h"
#include "state.h"

struct hidden {
    kgrade *engine;
    struct record_request request;
    struct task_case cases[GRADE_MAX_CASES]; /* what the request has to record */
    struct recording *recording;
    struct graves graves;
    struct finding finding;
    int result;
    atomic_bool stop;
    pthread_t thread;
};

static bool goes_on(void *data)
{
    const struct hidden *h = data;
    return !atomic_load(&h->stop);
}

static void *record(void *data)
{
    struct hidden *h = data;
    struct host_overhead unused[GRADE_MAX_CASES];
    jails_ask_while_waiting(goes_on, h);
    h->result = record_cases(h->engine, &h->request, h->recording, unused, NULL, NULL, &h->finding);
    return NULL;
}

static bool has_dims(const struct task *task, const struct task_case *cases, size_t n,
                     const struct task_case *c)
{
    for (size_t i = 0; i < n; i++)
        if (!memcmp(cases[i].dims, c->dims, task->n_dims * sizeof c->dims[0]))
            return true;
    return false;
}

static void hidden_free(struct hidden *h)
{
    graves_wait(&h->graves);
    recording_free(h->recording);
    finding_free(&h->finding);
    free(h);
}

struct hidden *hidden_begin(kgrade *engine, const struct record_request *request,
                            const struct task_case *publics, size_t n_publics)
{
    struct hidden *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->engine = engine;
    h->request = *request;
    h->request.cases = h->cases;
    h->request.n_cases = 0;
    h->request.graves = &h->graves;
    for (size_t i = 0; i < request->n_cases; i++)
        if (!has_dims(request->task, publics, n_publics, &request->cases[i]))
            h->cases[h->request.n_cases++] = request->cases[i];
    h->recording = recording_new(request->device->name, request->task);
    if (h->request.n_cases && h->recording && !pthread_create(&h->thread, NULL, record, h))
        return h;
    hidden_free(h);
    return NULL;
}

int hidden_end(struct hidden *h, bool wanted, struct recording *recording, struct graves *graves,
               struct finding *f)
{
    kgrade_error err = {.code = ""};
    if (!wanted)
        atomic_store(&h->stop, true);
    pthread_join(h->thread, NULL);
    int result = h->result;
    if (!result && wanted && recording_merge(recording, h->recording, &err))
        result = finding_set(f, KGRADE_REFUSED, err.code, err.hint, "%s", err.message);
    else if (result && wanted) {
        *f = h->finding;
        h->finding = (struct finding){.log = NULL};
    }
    for (size_t i = 0; i < h->graves.n; i++)
        worker_bury(&h->graves.workers[i], graves);
    h->graves.n = 0;
    hidden_free(h);
    return result;
}
