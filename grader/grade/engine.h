/* What an engine holds between grades.  Nothing of one candidate is in it. */
#ifndef KGRADE_ENGINE_H
#define KGRADE_ENGINE_H

#include <jansson.h>
#include <pthread.h>

#include "../../sandbox/sandbox.h"
#include "../device.h"
#include "../finding.h"
#include "../python/interpreter.h"
#include "../recording.h"
#include "../task/set.h"

#define ENGINE_MAX_DEVICES 8
#define ENGINE_MAX_REFERENCES (4 * TASK_SET_MAX)
#define ENGINE_MAX_PATH 4096

/* What a task's baseline gave on a device: recorded and verified once, then kept. */
struct baseline {
    char key[HASH_HEX]; /* of task hash, device and target */
    struct bytes recording;
    struct bytes code; /* see replay.h */
};

/* A task's reference, for the host or for a device, compiled once. */
struct reference {
    char key[HASH_HEX]; /* of its source and the compiler's command line */
    struct bytes library;
    bool checked; /* a device's: gave what reference.c gives; guarded by cache_lock */
};

/* A worker program in its jail, or the place for one.  Initialise with WORKER_NONE. */
struct worker {
    struct jail *jail;
    int socket;
    int output;        /* memory file with stdout and stderr */
    uint64_t awake_ns; /* how long whoever waits for its answer does not sleep */
};

#define WORKER_NONE                                                                                \
    {                                                                                              \
        NULL, -1, -1, 0                                                                            \
    }

/* What one grade takes of each kind on a device that starts workers ahead: two recorders (public and hidden cases), a
 * replayer for each side, a judge. */
#define SPARE_RECORDERS 2
#define SPARE_REPLAYERS 2
#define SPARE_JUDGES 1
#define SPARE_REHEARSALS 2 /* where the candidate is rehearsed */

/* So long a spare is good for: less than it lives, so that no grade is cut short. */
#define SPARE_KEEP_NS (19 * 3600 * IO_NS_PER_S)

/* The recorders of each interpreter are a kind, from 0 on; then these, of which rehearsals are one for each interpreter, too.  It is
 * the order in which they are started: frameworks take seconds to import. */
enum spare_kind {
    SPARE_PYTHON_JUDGE = PYTHON_MAX, /* of foreign tasks */
    SPARE_REHEARSAL,
    SPARE_REHEARSALS_END = SPARE_REHEARSAL + PYTHON_MAX - 1,
    SPARE_REPLAYER,
    SPARE_RECORDER,
    SPARE_JUDGE,
    SPARE_KINDS
};

/* A worker that was started ahead of time and waits for a grade.  It serves one; nothing of a candidate is in it. */
struct spare {
    unsigned kind;
    uint64_t started_ns;  /* CLOCK_MONOTONIC */
    struct worker worker; /* jail NULL: a free place */
};

/* Those of a device; see spares.c. */
struct spares {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct spare *items;
    size_t n;       /* places, enough for all kinds */
    unsigned users; /* grades under way */
    /* Which kinds grades under way take; where spares are kept, those of all grades there were. */
    bool asked[SPARE_KINDS];
    unsigned owed[SPARE_KINDS]; /* how many the keeper is still to start */
    pthread_t keeper;
    bool has_keeper, stop;
};

/* What is known of a device's state; see health.h. */
struct health {
    bool suspect;     /* something happened since the last check */
    bool quarantined; /* the last check failed */
    bool checking;
    unsigned faults;     /* how often it became suspect */
    uint64_t checked_ns; /* end of the last check, CLOCK_MONOTONIC; 0: there was none */
    int64_t checked_at;  /* the same in Unix seconds */
    uint64_t took_ns;
    kgrade_error reason; /* when quarantined */
};

/* Workers that have been told to die.  A process takes its time to give a device back; so several do at once, while other
 * work goes on. Zero-initialise. */
#define GRAVES_MAX 8
struct graves {
    struct worker workers[GRAVES_MAX];
    size_t n;
};

struct slot_waiter;

/* Who holds the slot has the device: one candidate at a time, from record to the last replay; see slot.h. */
struct device_slot {
    const struct device *device;

    json_t
        *ceilings; /* of the replayer's "ceilings"; NULL until measured; for who holds the slot */
    struct graves graves; /* of the last grade; for who holds the slot */
    char health_key[HASH_HEX];
    struct bytes
        health_recording; /* the health kernel, for who holds the slot; empty until the first check */

    pthread_mutex_t lock; /* held for moments only; guards what follows */
    pthread_cond_t served;
    bool held;
    unsigned sharers; /* of those who hold it; 0: it is held by one alone, or not at all */
    struct slot_waiter *waiters; /* in the order in which they came */
    bool target_known;
    char target[32]; /* what the replayer says to compile for; may be "" */
    struct health health;

    struct spares spares;
};

/* A candidate compiled before.  Only the compiler's work is saved: a build runs in a jail of its own and is a function
 * of its source, so nothing of one grade reaches another through it. */
#define ENGINE_MAX_BUILDS 64
#define ENGINE_MAX_BUILD_BYTES (16u << 20) /* larger ones are not kept */
struct build {
    char key[HASH_HEX]; /* of source and the compiler's command line */
    struct bytes library;
    uint64_t used; /* engine's count of uses, for dropping the one longest unused */
};

struct kgrade {
    kgrade_options options; /* numbers only; strings are below */
    char prefix[ENGINE_MAX_PATH];
    char tasks_folder[ENGINE_MAX_PATH];
    char more_tasks_folder[ENGINE_MAX_PATH]; /* empty: there is none */
    char cache_folder[ENGINE_MAX_PATH];
    char scratch_folder[ENGINE_MAX_PATH]; /* of this engine; removed at the end */
    int scratch_lock;                     /* held while the folder is in use */
    struct sandbox *sandbox;
    struct python_list pythons;
    pthread_mutex_t pythons_lock; /* guards what is known of them */
    pthread_mutex_t tasks_lock;   /* held for moments only */
    struct task_set *tasks;       /* take a reference with engine_tasks */
    struct device_slot slots[ENGINE_MAX_DEVICES];
    size_t n_slots;
    pthread_mutex_t cache_lock;
    struct baseline baselines[TASK_SET_MAX * ENGINE_MAX_DEVICES];
    size_t n_baselines;
    struct build builds[ENGINE_MAX_BUILDS];
    size_t n_builds;
    uint64_t build_uses;
    struct reference references[ENGINE_MAX_REFERENCES];
    size_t n_references;
};

/* The tasks as they are now; the caller gets a reference. */
struct task_set *engine_tasks(kgrade *engine);
struct device_slot *engine_slot(kgrade *engine, const struct device *device);

/* PREFIX/libexec/kgrade/NAME */
void engine_program(const kgrade *engine, const char *name, char ret[ENGINE_MAX_PATH]);

/* Where libexec/kgrade and share/kgrade are: options->prefix, else beside the running program, else as installed. */
void engine_find_prefix(const kgrade_options *options, char ret[ENGINE_MAX_PATH]);

#endif
