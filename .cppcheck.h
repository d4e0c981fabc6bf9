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
