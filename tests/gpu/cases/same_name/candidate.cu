#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>

static const char text[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
    .reg .pred p;
    .reg .b32 n, i, x, y;
    .reg .b64 a, b, c, at;
    .reg .f32 u, v, w;
    ld.param.u64 a, [pa];
    ld.param.u64 b, [pb];
    ld.param.u64 c, [pc];
    ld.param.u32 n, [pn];
    mov.u32 x, %%ctaid.x;
    mov.u32 y, %%ntid.x;
    mov.u32 i, %%tid.x;
    mad.lo.u32 i, x, y, i;
    setp.ge.u32 p, i, n;
    @p bra done;
    mul.wide.u32 at, i, 4;
    add.u64 a, a, at;
    add.u64 b, b, at;
    add.u64 c, c, at;
    ld.global.f32 u, [a];
    ld.global.f32 v, [b];
    fma.rn.f32 w, v, %s, u;
    st.global.f32 [c], w;
done:
    ret;
}
)";

static CUfunction load(const char *factor)
{
    char source[4096];
    CUmodule module;
    CUfunction function;
    snprintf(source, sizeof source, text, factor);
    cuModuleLoadData(&module, source);
    cuModuleGetFunction(&function, module, "sum");
    return function;
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static CUfunction wrong, right;
    if (!wrong) {
        cudaFree(0);
        wrong = load("0f40000000"); /* 2 */
        right = load("0f3F800000"); /* 1 */
    }
    void *arguments[] = {&a, &b, &c, &n};
    cuLaunchKernel(wrong, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
    cuLaunchKernel(right, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
}
