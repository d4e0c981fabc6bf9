/* Thousands of warnings and notes around a candidate that compiles: it is graded, and nobody is shown them. */
#include "../../honest.h"

#define W1(n)                                                                                      \
    static int w##n(void)                                                                          \
    {                                                                                              \
        int unused_##n;                                                                            \
        _Pragma("message(\"a long note to fill the log with\")") return n;                         \
    }
#define W2(n)                                                                                      \
    W1(n##0) W1(n##1) W1(n##2) W1(n##3) W1(n##4) W1(n##5) W1(n##6) W1(n##7) W1(n##8) W1(n##9)
#define W3(n)                                                                                      \
    W2(n##0) W2(n##1) W2(n##2) W2(n##3) W2(n##4) W2(n##5) W2(n##6) W2(n##7) W2(n##8) W2(n##9)
#define W4(n)                                                                                      \
    W3(n##0) W3(n##1) W3(n##2) W3(n##3) W3(n##4) W3(n##5) W3(n##6) W3(n##7) W3(n##8) W3(n##9)
W4(1)

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)n, (void)queue;
}
