#define _GNU_SOURCE
#include "pythons.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "jails.h"

#define ASK_NS (30 * IO_NS_PER_S)

/* The versions of what is installed, without importing any of it. */
static const char program[] =
    "import importlib.metadata as m, json, platform\n"
    "names = ('torch', 'triton', 'numpy', 'cupy-cuda12x', 'cupy-cuda13x', 'numba', 'jax',\n"
    "         'nvidia-cutlass-dsl', 'cuda-python', 'pyopencl')\n"
    "found = {}\n"
    "for name in names:\n"
    "    try:\n"
    "        found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError:\n"
    "        pass\n"
    "print(json.dumps({'version': platform.python_version(), 'frameworks': found}))\n";

static json_t *ask(kgrade *engine, const struct python *python, kgrade_error *err)
{
    const char *const argv[] = {python->path, "-I", "-B", "-c", program, NULL};
    cleanup_free char *text = NULL;
    kgrade_error cause = {.code = ""};
    json_t *json = NULL;
    if (jails_run(engine, argv, python, ASK_NS, &text, &cause) == 0)
        json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_string(json_object_get(json, "version")) &&
        json_is_object(json_object_get(json, "frameworks")) &&
        json_object_set_new(json, "name", json_string(python->name)) == 0)
        return json;
    json_decref(json);
    fail(err, "python_failed", "Name the interpreter itself, as in /opt/venv/bin/python3.",
         "%s does not run as Python in a jail: %s", python->path,
         cause.code[0] ? cause.message : "what it prints is not what was asked for.");
    return NULL;
}

const json_t *pythons_ask(kgrade *engine, struct python *python, kgrade_error *err)
{
    pthread_mutex_lock(&engine->pythons_lock);
    if (!python->about)
        python->about = ask(engine, python, err);
    const json_t *about = python->about;
    pthread_mutex_unlock(&engine->pythons_lock);
    return about;
}
