/* The text of kgrade_ranges.h, which candidates may include. */
#ifndef KGRADE_PROFILE_RANGES_TEXT_H
#define KGRADE_PROFILE_RANGES_TEXT_H

#define RANGES_FILE "kgrade_ranges.h"

extern const char ranges_text[];

#endif
