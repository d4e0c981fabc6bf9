/* The recorder's program for candidates that are shared objects. */
#include "worker.h"

int main(void)
{
    return record_worker_main(&record_this_device, &record_host_native);
}
