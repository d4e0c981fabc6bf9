/*
 * What the judge's kernels (judge_kernels.cu) and the code that launches them share.  Included by C and by CUDA C++.
 */
#ifndef KGRADE_CUDA_JUDGE_KERNELS_H
#define KGRADE_CUDA_JUDGE_KERNELS_H

#include <stdint.h>

#include "../../task/dtype.h"

#define JUDGE_THREADS 256 /* per block, of all the judge's kernels */

/* "kgrade_compare": judge/compare.c, element by element.  One part per block comes out. */
struct compare_arguments {
    uint64_t got;      /* addresses; elements of dtype */
    uint64_t poison;   /* the same; 0: there was none */
    uint64_t expected; /* double or int64_t */
    uint64_t count;
    uint64_t parts; /* address of struct compare_part[blocks] */
    double absolute, relative;
    uint32_t dtype;
    uint32_t is_exact; /* there is no tolerance */
};

/* What is known of some of the elements.  Parts of disjoint sets of elements can be merged in any order. */
struct compare_part {
    uint64_t bad, nan, unwritten;
    double difference2, expected2; /* sums of squares, over finite elements */
    /* The worst element. */
    double excess; /* -1: none yet */
    double error, expected, got;
    uint64_t index;
};

#endif
