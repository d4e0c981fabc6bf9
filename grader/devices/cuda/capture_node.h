/* Single nodes of a captured graph, and what they use. */
#ifndef KGRADE_CUDA_CAPTURE_NODE_H
#define KGRADE_CUDA_CAPTURE_NODE_H

#include "capture.h"
#include "watch.h"

/* An image that the call uses, with the module that it became here. */
struct capture_image {
    size_t image; /* in the recording */
    CUmodule module;
    struct watch_image source;
};

struct capture {
    const struct capture_place *place;
    struct recording *recording;
    struct recording_call *call;
    struct capture_image *images;
    size_t n_images, images_room;
    kgrade_error *err;
};

/* Appends the node; index is its number, for messages.  NULL: an empty node. */
int capture_node(struct capture *capture, CUgraphNode node, size_t index);

/* The candidate's memory and the variables of the images that nodes use.  After all nodes. */
int capture_memory(struct capture *capture);
int capture_globals(struct capture *capture);

#endif
