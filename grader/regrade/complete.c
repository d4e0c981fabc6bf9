/* What can be said of an entry without grading it. */
#define _GNU_SOURCE
#include <string.h>

#include "board.h"

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

const json_t *regrade_find_task(const struct regrade_wishes *wishes, const char *name)
{
    for (size_t i = 0; i < json_array_size(wishes->tasks); i++) {
        const json_t *task = json_array_get(wishes->tasks, i);
        if (!strcmp(text_of(task, "name"), name))
            return task;
    }
    return NULL;
}

static bool has_language(const json_t *device, const char *language)
{
    const json_t *languages = json_object_get(device, "languages");
    for (size_t i = 0; i < json_array_size(languages); i++)
        if (!strcmp(json_string_value(json_array_get(languages, i)), language))
            return true;
    return false;
}

static void skip(struct regrade_entry *entry, const char *code, const char *message)
{
    entry->skip_code = code;
    entry->skip_message = message;
}

/* The device that entry names, else the one that is wished for, else the first that has the language. */
static const json_t *find_device(const struct regrade_entry *entry,
                                 const struct regrade_wishes *wishes, const json_t *task)
{
    const char *wanted = entry->device ? entry->device : wishes->device;
    const json_t *devices = json_object_get(task, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        bool fits = wanted ? !strcmp(text_of(device, "name"), wanted)
                           : !entry->language || has_language(device, entry->language);
        if (fits)
            return device;
    }
    return NULL;
}

static void skip_for_language(struct regrade_entry *entry, const struct regrade_wishes *wishes)
{
    if (!strcmp(entry->language, "python") || !strcmp(entry->language, "triton"))
        skip(entry, "needs_python",
             "It is written in Python, which no device of this kgrade takes for the task.");
    else if (entry->device || wishes->device)
        skip(entry, "unknown_language",
             "The device does not take the language that it is written in.");
    else
        skip(entry, "unknown_language",
             "No device that this kgrade was built with takes the language that it is written in.");
}

void regrade_complete(struct regrade_entry *entry, const struct regrade_wishes *wishes)
{
    if (!entry->task)
        entry->task = wishes->task;
    if (entry->skip_code)
        return;
    if (!entry->source) {
        skip(entry, "no_source", "The board tells of it, but its source is not there.");
        return;
    }
    if (!entry->task) {
        skip(entry, "no_task", "None of kgrade's tasks is its problem; --task names one that is.");
        return;
    }
    const json_t *task = regrade_find_task(wishes, entry->task);
    if (!task) {
        skip(entry, "unknown_task", "The task that it would be graded for is not there.");
        return;
    }
    const json_t *device = find_device(entry, wishes, task);
    if (!device && (entry->device || wishes->device))
        skip(entry, "task_not_for_device", "The task has no cases for the device.");
    else if (!device || (entry->language && !has_language(device, entry->language)))
        skip_for_language(entry, wishes);
    else
        entry->device = text_of(device, "name");
}
