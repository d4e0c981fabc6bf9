"""load_inline, launched on the current stream."""

from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

void launch(torch::Tensor a, torch::Tensor b, torch::Tensor c)
{
    int n = (int)a.numel();
    add<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
}
"""
module = load_inline("inline_add", "void launch(torch::Tensor a, torch::Tensor b, torch::Tensor c);", SOURCE, functions=["launch"])


def vector_add(a, b, c, n):
    module.launch(a, b, c)
