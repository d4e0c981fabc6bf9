/* Hundreds of compile errors: the log is capped, the server lives. */
#include "../../honest.h"

#define X1(n) int x##n = undeclared_##n + "a very long line to fill the log" * 3;
#define X10(n)                                                                                     \
    X1(n##0) X1(n##1) X1(n##2) X1(n##3) X1(n##4) X1(n##5) X1(n##6) X1(n##7) X1(n##8) X1(n##9)
#define X100(n) X10(n##0) X10(n##1) X10(n##2) X10(n##3) X10(n##4) X10(n##5) X10(n##6) X10(n##7)
#define X1000(n) X100(n##0) X100(n##1) X100(n##2) X100(n##3) X100(n##4) X100(n##5) X100(n##6)
X1000(1)
