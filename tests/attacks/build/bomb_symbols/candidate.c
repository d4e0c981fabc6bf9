/* A million functions from a macro, each with a loop to optimise. */
#include "../../honest.h"

#define F1(n)                                                                                      \
    int f##n(int x)                                                                                \
    {                                                                                              \
        for (int i = 0; i < x; i++)                                                                \
            x ^= x * i + f##n(i);                                                                  \
        return x;                                                                                  \
    }
#define F2(n)                                                                                      \
    F1(n##0) F1(n##1) F1(n##2) F1(n##3) F1(n##4) F1(n##5) F1(n##6) F1(n##7) F1(n##8) F1(n##9)
#define F3(n)                                                                                      \
    F2(n##0) F2(n##1) F2(n##2) F2(n##3) F2(n##4) F2(n##5) F2(n##6) F2(n##7) F2(n##8) F2(n##9)
#define F4(n)                                                                                      \
    F3(n##0) F3(n##1) F3(n##2) F3(n##3) F3(n##4) F3(n##5) F3(n##6) F3(n##7) F3(n##8) F3(n##9)
#define F5(n)                                                                                      \
    F4(n##0) F4(n##1) F4(n##2) F4(n##3) F4(n##4) F4(n##5) F4(n##6) F4(n##7) F4(n##8) F4(n##9)
#define F6(n)                                                                                      \
    F5(n##0) F5(n##1) F5(n##2) F5(n##3) F5(n##4) F5(n##5) F5(n##6) F5(n##7) F5(n##8) F5(n##9)
/* clang-format off: it takes the calls for declarations */
F6(1)
F6(2)
/* clang-format on */

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
