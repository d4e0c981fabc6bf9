/* NVTX's own headers where the machine has them. */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_client.h"
#endif
