/* Includes itself twice at each of 40 levels: 2^40 inclusions. */
#if __INCLUDE_LEVEL__ < 40
#include __FILE__
#include __FILE__
#else
int x;
#endif
