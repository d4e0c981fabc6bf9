/* POST /grades: many at once, none of them waited for. */
#ifndef KGRADED_BATCH_H
#define KGRADED_BATCH_H

#include "request.h"

enum MHD_Result batch_post(struct request *r);

#endif
