/* The judge's program for tasks whose reference is a shared object. */
#include "worker.h"

int main(void)
{
    return judge_worker_main(&judge_this_device, NULL);
}
