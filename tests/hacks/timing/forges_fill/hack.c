/* Answers with recordings of no kernel, only a fill. */
#include "../../../attacks/attack.h"

#define MANIFEST                                                                                   \
    "{\"format\":1,\"device\":\"opencl\",\"task\":\"timed_add\",\"n_params\":5,\"n_dims\":1,"      \
    "\"blobs\":[],\"images\":[],"                                                                  \
    "\"calls\":[{\"dims\":[%d],\"buffers\":[],\"globals\":[],\"nodes\":[{\"kind\":\"fill\","       \
    "\"to\":{\"buffer\":2,\"offset\":0},\"bytes\":4,\"rows\":1,\"to_pitch\":0,\"pattern\":"        \
    "\"00000000\"}],\"edges\":[]}]}"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)queue;
    answer_recordings(MANIFEST, n);
}
