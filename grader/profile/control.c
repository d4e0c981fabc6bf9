#include "control.h"

#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../measure/statistics.h"
#include "blocks.h"

#define ROUND_NS (40 * IO_NS_PER_MS) /* of one variant in one round, about */

enum variant { ABSENT, INACTIVE, ACTIVE, VARIANTS };

static const char *const labels[VARIANTS] = {"not built in", "built in, inactive",
                                             "built in, active"};

struct control {
    kgrade *engine;
    struct record_session sessions[2]; /* without and with notes */
    struct blocks size;
    double rounds[VARIANTS][CONTROL_ROUNDS];
};

static struct record_session *session_of(struct control *c, enum variant variant)
{
    return &c->sessions[variant != ABSENT];
}

static int measure(struct control *c, enum variant first, struct finding *f)
{
    uint64_t wall_ns;
    /* One round to warm up, which is not kept; then each begins with another variant. */
    for (unsigned round = 0; round <= CONTROL_ROUNDS; round++) {
        for (unsigned i = 0; i < VARIANTS; i++) {
            enum variant v = (enum variant)((i + round) % VARIANTS);
            double ns;
            if (v < first)
                continue;
            if (record_blocks(session_of(c, v), c->size.blocks, c->size.calls, v == ACTIVE, &ns,
                              &wall_ns, f))
                return -1;
            if (round)
                c->rounds[v][round - 1] = ns;
        }
    }
    return 0;
}

static json_t *variant_json(struct control *c, enum variant v)
{
    json_t *rounds = json_array();
    for (unsigned i = 0; i < CONTROL_ROUNDS; i++)
        json_array_append_new(rounds, json_real(c->rounds[v][i]));
    statistics_sort(c->rounds[v], CONTROL_ROUNDS);
    return json_pack("{s:s, s:b, s:b, s:o, s:f}", "label", labels[v], "compiled", v != ABSENT,
                     "active", v == ACTIVE, "rounds_ns", rounds, "median_ns",
                     statistics_quantile(c->rounds[v], CONTROL_ROUNDS, 0.5));
}

static void close_sessions(struct control *c)
{
    for (size_t i = 0; i < 2; i++)
        record_session_end(&c->sessions[i]);
}

int control_run(kgrade *engine, const struct record_request *request, json_t **ret,
                struct finding *f)
{
    __attribute__((cleanup(close_sessions))) struct control c = {
        .engine = engine, .sessions = {RECORD_SESSION_NONE, RECORD_SESSION_NONE}};
    enum variant first = request->device->plain_recorder && !request->python ? ABSENT : INACTIVE;
    struct record_request plain = *request;
    plain.profile = RECORD_PROFILE_PLAIN;
    if ((first == ABSENT && record_session_begin(engine, &plain, session_of(&c, ABSENT), f)) ||
        record_session_begin(engine, request, session_of(&c, INACTIVE), f) ||
        blocks_find(session_of(&c, INACTIVE), ROUND_NS, &c.size, f) || measure(&c, first, f))
        return -1;
    *ret = json_array();
    for (unsigned v = first; v < VARIANTS; v++)
        json_array_append_new(*ret, variant_json(&c, (enum variant)v));
    return 0;
}
