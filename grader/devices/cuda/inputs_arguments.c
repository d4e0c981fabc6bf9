#include "inputs.h"

#include "../../task/values.h"

_Static_assert((int)KERNELS_UNIFORM == (int)DISTRIBUTION_UNIFORM &&
                   (int)KERNELS_NORMAL == (int)DISTRIBUTION_NORMAL &&
                   (int)KERNELS_INTEGER == (int)DISTRIBUTION_INTEGER &&
                   (int)KERNELS_PERMUTED == (int)DISTRIBUTION_PERMUTATION &&
                   (int)KERNELS_SORTED == (int)DISTRIBUTION_SORTED,
               "the kernels and the tasks number the distributions alike");

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* Where the permutation sends 0 before it is rotated. */
static uint64_t permute_zero(const struct kernels_fill *f)
{
    uint32_t mask = (uint32_t)((1ull << f->half_bits) - 1);
    uint64_t i = 0;
    do {
        uint32_t left = (uint32_t)(i >> f->half_bits), right = (uint32_t)i & mask;
        for (int round = 0; round < 4; round++) {
            uint32_t next = left ^ (mix(right ^ f->keys[round]) & mask);
            left = right;
            right = next;
        }
        i = (uint64_t)left << f->half_bits | right;
    } while (i >= f->count);
    return i;
}

static void set_permutation(struct kernels_fill *f)
{
    uint32_t key[2] = {f->seed_low, f->seed_high};
    while (f->half_bits < 31 && (1ull << 2 * f->half_bits) < f->count)
        f->half_bits++;
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t counter[4] = {round, 0, f->param, KERNELS_PERMUTATION}, out[4];
        values_philox(counter, key, out);
        f->keys[round] = out[0];
    }
    f->rotate = f->count > 1 && permute_zero(f) == 0;
}

struct kernels_fill inputs_fill(CUdeviceptr base, const struct param *param,
                                const struct layout_buffer *buffer, uint64_t seed)
{
    const struct distribution *d = &buffer->values;
    struct kernels_fill f = {
        .to = base + buffer->offset,
        .count = buffer->count,
        .scale = d->scale,
        .offset = d->offset,
        .low = d->low,
        .high = d->high,
        .distribution = d->kind,
        .dtype = param->dtype,
        .param = (uint32_t)buffer->param,
        .seed_low = (uint32_t)seed,
        .seed_high = (uint32_t)(seed >> 32),
    };
    if (d->kind == DISTRIBUTION_PERMUTATION)
        set_permutation(&f);
    return f;
}

/* How raw bits become a poison element, as in task/values.c: sign, mantissa and the low bits of the exponent are random,
 * and the exponent starts at `lowest`. */
static void float_rule(struct kernels_poison *p, unsigned exponent_bits, unsigned mantissa_bits,
                       unsigned random_bits, uint64_t lowest)
{
    p->keep =
        1ull << (exponent_bits + mantissa_bits) | ((1ull << (mantissa_bits + random_bits)) - 1);
    p->add = lowest << mantissa_bits;
}

struct kernels_poison inputs_poison(CUdeviceptr base, const struct param *param,
                                    const struct layout_buffer *buffer, uint64_t poison)
{
    struct kernels_poison p = {
        .to = base + buffer->offset,
        .bytes = buffer->bytes,
        .size = (uint32_t)dtype_size(param->dtype),
        .param = (uint32_t)buffer->param,
        .seed_low = (uint32_t)poison,
        .seed_high = (uint32_t)(poison >> 32),
    };
    switch (param->dtype) {
    case DTYPE_F64:
        float_rule(&p, 11, 52, 4, 1016);
        break;
    case DTYPE_F32:
        float_rule(&p, 8, 23, 4, 120);
        break;
    case DTYPE_F16:
        float_rule(&p, 5, 10, 3, 11);
        break;
    case DTYPE_BF16:
        float_rule(&p, 8, 7, 4, 120);
        break;
    case DTYPE_F8E4M3:
        float_rule(&p, 4, 3, 2, 5);
        break;
    case DTYPE_F8E5M2:
        float_rule(&p, 5, 2, 2, 13);
        break;
    case DTYPE_I8:
    case DTYPE_U8:
        p.keep = UINT8_MAX;
        break;
    case DTYPE_I32:
    case DTYPE_I64:
        p.keep = (1u << 24) - 1;
        p.add = -(1ull << 23);
        break;
    case DTYPE_BOOL:
    case DTYPE_COUNT:
        p.keep = 1;
        break;
    }
    return p;
}

struct kernels_canary inputs_canary(CUdeviceptr base, const struct layout_buffer *buffer,
                                    uint64_t poison)
{
    return (struct kernels_canary){
        .to = base + buffer->offset + buffer->bytes,
        .bytes = buffer->canary,
        .param = (uint32_t)buffer->param,
        .seed_low = (uint32_t)poison,
        .seed_high = (uint32_t)(poison >> 32),
    };
}
