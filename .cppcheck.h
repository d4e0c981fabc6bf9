/* Given to cppcheck, which reads no system headers, before every source: macros that it must know
 * to read on. */
#define __typeof__(x) void *
#define json_object_foreach(object, key, value)                                                    \
    for (key = json_object_iter_key(json_object_iter(object)),                                     \
        value = json_object_get(object, key);                                                      \
         key;                                                                                      \
         key = json_object_iter_key(json_object_iter_next(object, json_object_key_to_iter(key))),  \
        value = json_object_get(object, key))
#define json_array_foreach(array, index, value)                                                    \
    for (index = 0; index < json_array_size(array) && (value = json_array_get(array, index));      \
         index++)
#define json_auto_t json_t

/* Of <sys/queue.h>, whose anonymous heads it cannot parse. */
#define LIST_HEAD(name, type) struct name { struct type *lh_first; }
#define LIST_ENTRY(type) struct { struct type *le_next, **le_prev; }
#define STAILQ_HEAD(name, type) struct name { struct type *stqh_first, **stqh_last; }
#define STAILQ_ENTRY(type) struct { struct type *stqe_next; }
#define TAILQ_HEAD(name, type) struct name { struct type *tqh_first, **tqh_last; }
#define TAILQ_ENTRY(type) struct { struct type *tqe_next, **tqe_prev; }
#define LIST_FOREACH(var, head, field) for ((var) = (head)->lh_first; (var); (var) = (var)->field.le_next)
#define TAILQ_FOREACH(var, head, field) for ((var) = (head)->tqh_first; (var); (var) = (var)->field.tqe_next)
