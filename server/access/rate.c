#include "rate.h"

#include "../../sandbox/base/io.h"

static double level_at(const struct bucket *bucket, const struct rate *rate, uint64_t now)
{
    if (!bucket->at)
        return rate->burst;
    double minutes = now > bucket->at ? (double)(now - bucket->at) / (60.0 * IO_NS_PER_S) : 0;
    double level = bucket->level + minutes * rate->per_minute;
    return level < rate->burst ? level : rate->burst;
}

bool bucket_take(struct bucket *bucket, const struct rate *rate, unsigned n, uint64_t now,
                 unsigned *ret_retry_s)
{
    /* Times are kept as ns and levels as double: what is missing by less than this is there. */
    const double rounding = 1e-6;
    double level = level_at(bucket, rate, now);
    double need = n < rate->burst ? n : rate->burst;
    if (level + rounding < need) {
        double seconds = (need - level) * 60 / rate->per_minute;
        unsigned whole = (unsigned)seconds;
        *ret_retry_s = (double)whole < seconds ? whole + 1 : whole;
        if (!*ret_retry_s)
            *ret_retry_s = 1;
        return false;
    }
    bucket->level = level - n;
    bucket->at = now ? now : 1;
    return true;
}

bool bucket_is_full(const struct bucket *bucket, const struct rate *rate, uint64_t now)
{
    return level_at(bucket, rate, now) >= rate->burst;
}
