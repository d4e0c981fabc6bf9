/* Answers that need neither the store nor the jobs. */
#ifndef KGRADED_PAGES_H
#define KGRADED_PAGES_H

#include "request.h"

enum MHD_Result page_index(struct request *r);
enum MHD_Result page_tasks(struct request *r);
enum MHD_Result page_task(struct request *r);
enum MHD_Result page_health(struct request *r);
enum MHD_Result page_version(struct request *r);
enum MHD_Result page_openapi(struct request *r);
enum MHD_Result page_schema(struct request *r);

#endif
