/* How things are: /readyz and /metrics. */
#ifndef KGRADED_STATE_H
#define KGRADED_STATE_H

#include "request.h"

enum MHD_Result state_ready(struct request *r);
enum MHD_Result state_metrics(struct request *r);

#endif
