/* A recording is hostile input: the parser must refuse or take any bytes, and what it takes must survive a round trip. */
#include <stdlib.h>
#include <string.h>

#include "grader/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_recording struct recording *recording = NULL, *again = NULL;
    cleanup_bytes struct bytes file = {0};
    if (recording_parse(data, size, &recording, NULL))
        return 0;
    if (recording_write(recording, &file, NULL) ||
        recording_parse(file.data, file.size, &again, NULL))
        abort();
    return 0;
}
