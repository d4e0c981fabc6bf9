/* Files that are part of the program. */
#ifndef KGRADED_DOCUMENTS_H
#define KGRADED_DOCUMENTS_H

#include <stddef.h>

extern const unsigned char document_openapi[], document_grade_schema[];
extern const size_t document_openapi_size, document_grade_schema_size;

#endif
