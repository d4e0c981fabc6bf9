/*
 * Instructions of AMD cards, which compilers for them offer as functions.  A call does not compile, and says what to use; code
 * that never calls them, in a discarded branch for example, does.  Those that are not listed are unknown names to the compiler.
 */
#ifndef KGRADE_HIP_AMD_ONLY_H
#define KGRADE_HIP_AMD_ONLY_H

#include "hip_common.h"

#define KGRADE_HIP_AMD_ONLY(name)                                                                  \
    template <bool nvidia = true, class... T> __host__ __device__ inline int name(const T &...)    \
    {                                                                                              \
        static_assert(!nvidia,                                                                     \
                      #name " is an instruction of AMD cards, and this is an NVIDIA card: "        \
                            "use what HIP has for all cards, __shfl_xor() for example");           \
        return 0;                                                                                  \
    }

KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_readfirstlane)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_readlane)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_writelane)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mov_dpp)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_update_dpp)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_ds_bpermute)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_ds_permute)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_ds_swizzle)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_permlane16)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_permlanex16)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_permlane32_swap)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mbcnt_lo)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mbcnt_hi)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_ballot_w32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_ballot_w64)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_wave_barrier)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_s_barrier)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_s_waitcnt)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_s_sleep)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_sched_barrier)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_sched_group_barrier)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_s_setprio)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_fence)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_workgroup_id_x)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_workitem_id_x)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_raw_buffer_load_b32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_raw_buffer_load_b128)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_raw_buffer_store_b32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_make_buffer_rsrc)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_global_load_lds)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_sdot4)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_udot4)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_fdot2)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_perm)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_alignbit)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_fmed3f)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_rcpf)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_rsqf)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_exp2f)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_logf)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_cvt_pkrtz)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_cvt_pk_fp8_f32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_32x32x1f32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_32x32x2f32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_16x16x4f32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_4x4x1f32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_32x32x8f16)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_16x16x16f16)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_i32_32x32x16_i8)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_i32_16x16x32_i8)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_mfma_f64_16x16x4f64)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32)
KGRADE_HIP_AMD_ONLY(__builtin_amdgcn_wmma_f32_16x16x16_bf16_w32)

#endif
