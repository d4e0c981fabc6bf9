/* The entry point's name is an integer: calling it executes data. */
#include "../../honest.h"

int vector_add = 42;
