"""The operators: what each is called with, what is right, and how a candidate computes it.  operators.py makes tasks of them.

Texts are expressions of Python.  `inputs` may use n, which is small in the correctness case and large in the benchmark; `reference`
and `candidate` the names in `takes`.  References are written to be right in double precision, where `wide` changes nothing.
"""

import dataclasses

F32 = {"absolute": 1e-3, "relative": 1e-3, "norm": 1e-4}
LONG = {"absolute": 0.1, "relative": 1e-3, "norm": 1e-4}  # sums of many
BF16 = {"absolute": 0.25, "relative": 0.02, "norm": 0.01}
FP8 = {"absolute": 1.0, "relative": 0.05, "norm": 0.05}
NO_TF32 = "torch.backends.cudnn.allow_tf32 = False\n"


@dataclasses.dataclass
class Operator:
    name: str
    takes: str
    inputs: str
    reference: str
    candidate: str = ""  # empty: the reference's words
    n: tuple = (3, 1024)
    tolerance: dict = dataclasses.field(default_factory=lambda: F32)
    layer: str = ""  # of a model: what it is constructed with; `self.layer` in both
    dtype: str = "float32"  # of the layer's weights
    setup: str = ""  # before the candidate's function
    baseline: str = ""  # empty: the candidate is the baseline, too
    expect: tuple = ("accepted",)  # a verdict, and codes that are right
    slow: bool = False  # compiles for long: comes last


TRITON = '''
import triton
import triton.language as tl
'''

TRITON_MATMUL = TRITON + '''

@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        total += tl.dot(tl.load(a + m[:, None] * K + (at + k)[None, :]), tl.load(b + (at + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], total)


def multiply(a, b):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=torch.float32)
    product[(a.shape[0] // 64, b.shape[1] // 64)](a, b, c, b.shape[1], a.shape[1], 64, 64, 32, num_warps=4, num_stages=3)
    return c
'''

TRITON_AUTOTUNED = TRITON + '''

@triton.autotune(configs=[triton.Config({"B": b}, num_warps=w) for b in (512, 1024, 2048) for w in (4, 8)], key=["n"])
@triton.jit
def sums(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def add(x, y):
    out, n = torch.empty_like(x), x.numel()
    sums[lambda meta: (triton.cdiv(n, meta["B"]),)](x, y, out, n)
    return out
'''

INLINE = '''
import ctypes
import os
import subprocess

SOURCE = """
__global__ void add_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}

extern "C" void run(float *x, int n)
{
    add_one<<<(n + 255) / 256, 256>>>(x, n);
}
"""
folder = os.environ.get("TMPDIR", "/tmp")
with open(os.path.join(folder, "inline.cu"), "w") as file:
    file.write(SOURCE)
major, minor = torch.cuda.get_device_capability()
subprocess.run(["nvcc", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-o", os.path.join(folder, "inline.so"),
                os.path.join(folder, "inline.cu")], check=True)
run = ctypes.CDLL(os.path.join(folder, "inline.so")).run


def add_one(x):
    y = x.clone()
    run(ctypes.c_void_p(y.data_ptr()), ctypes.c_int(y.numel()))
    return y * 2
'''

COMPILED = '''

@torch.compile
def activated(x, w):
    return F.gelu(x @ w) + x
'''

TWO_STREAMS = '''
other = None


def both(x, y):
    global other
    if other is None:
        other = torch.cuda.Stream()
    current = torch.cuda.current_stream()
    other.wait_stream(current)
    with torch.cuda.stream(other):
        a = x.sin()
    b = y.cos()
    current.wait_stream(other)
    return a + b
'''

O = Operator
OPERATORS = [
    # Products.
    O("matmul_f32", "a, b", "normal(n, 512), normal(512, 512)", "a @ b"),
    O("matmul_bf16", "a, b", "bf16(n, 1024), bf16(1024, 1024)", "(wide(a) @ wide(b)).to(a.dtype)", "a @ b", tolerance=BF16),
    O("matmul_f16_odd", "a, b", "f16(n, 777), f16(777, 333)", "(wide(a) @ wide(b)).to(a.dtype)", "a @ b", n=(5, 1000), tolerance=BF16),
    O("bmm", "a, b", "normal(n, 128, 128), normal(n, 128, 128)", "torch.bmm(a, b)", n=(1, 16)),
    O("linear_bf16_bias", "x", "bf16(n, 512)", "self.layer(wide(x)).to(x.dtype)", "self.layer(x)", layer="nn.Linear(512, 1024)",
      dtype="bfloat16", tolerance=BF16),
    O("fp8_scaled_mm", "a, b", "bf16(n, 512), bf16(512, 512)", "(fp8(a) @ fp8(b).t()).to(a.dtype)",
      "torch._scaled_mm(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t(), scale_a=one(a), scale_b=one(a), "
      "out_dtype=torch.bfloat16)", n=(16, 512), tolerance=FP8, setup="\ndef one(a):\n    return torch.ones((), device=a.device)\n"),
    O("einsum", "a, b", "normal(n, 128, 128), normal(n, 128, 64)", "torch.einsum('bij,bjk->bik', a, b)", n=(1, 8)),
    O("moe_gather_product", "x, w", "normal(n, 128), normal(n, 128, 256)", "torch.einsum('ed,edf->ef', x, w)", n=(1, 16)),
    # Rows.
    O("softmax", "x", "normal(n, 512)", "x.softmax(-1)"),
    O("softmax_wide", "x", "normal(n, 65536)", "x.softmax(-1)", n=(1, 8)),
    O("layer_norm", "x", "normal(n, 512)", "self.layer(x)", layer="nn.LayerNorm(512)"),
    O("rms_norm", "x", "normal(n, 512)", "x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()",
      "F.rms_norm(x, (512,), eps=1e-5)"),
    O("batch_norm", "x", "normal(n, 64, 28, 28)", "self.layer(x)", layer="nn.BatchNorm2d(64).eval()", n=(1, 8)),
    O("group_norm", "x", "normal(n, 64, 28, 28)", "F.group_norm(x, 8)", n=(1, 8)),
    O("gelu", "x", "normal(n, 1024)", "F.gelu(x)"),
    O("sum", "x", "normal(n, 1024) + 1", "x.sum()", tolerance={"absolute": 1, "relative": 1e-4, "norm": 1e-4}),
    O("sum_of_columns", "x", "normal(n, 512)", "x.sum(0)", tolerance=LONG),
    O("max_of_rows", "x", "normal(n, 512)", "x.max(1)[0]"),
    O("argmax", "x", "normal(n, 512)", "x.argmax(1)"),
    O("count_positive", "x", "normal(n, 1024)", "(x > 0).sum()"),
    O("cumsum", "x", "normal(n * 1024)", "x.cumsum(0)", n=(3, 512), tolerance=LONG),
    O("cumsum_rows", "x", "normal(n, 2048)", "x.cumsum(1)", n=(3, 256), tolerance=LONG),
    O("cross_entropy", "x, t", "normal(n, 1000), index(1000, n)", "F.cross_entropy(x, t)"),
    # Order.
    O("sort", "x", "normal(n * 1024)", "x.sort()[0]", n=(3, 512)),
    O("sort_rows", "x", "normal(n, 4096)", "x.sort(1)[0]", n=(3, 64)),
    O("topk", "x", "normal(n, 8192)", "x.topk(32)[0]", n=(3, 64)),
    # Attention and convolution.
    O("sdpa_flash_bf16", "q, k, v", "*(bf16(n, 8, 256, 64) for _ in range(3)),",
      "causal_attention(wide(q), wide(k), wide(v)).to(q.dtype)", "F.scaled_dot_product_attention(q, k, v, is_causal=True)", n=(1, 4),
      tolerance={"absolute": 0.03, "relative": 0.03, "norm": 0.02}),
    O("sdpa_f32", "q, k, v", "*(normal(n, 8, 128, 64) for _ in range(3)),", "attention(q, k, v)",
      "F.scaled_dot_product_attention(q, k, v)", n=(1, 4)),
    O("conv2d_f32", "x", "normal(n, 64, 28, 28)", "self.layer(x)", layer="nn.Conv2d(64, 128, 3, padding=1)", n=(1, 4), setup=NO_TF32),
    O("conv2d_bf16", "x", "bf16(n, 64, 28, 28)", "self.layer(wide(x)).to(x.dtype)", "self.layer(x)", dtype="bfloat16",
      layer="nn.Conv2d(64, 128, 3, padding=1)", n=(1, 4), tolerance={"absolute": 0.05, "relative": 0.02, "norm": 0.01}),
    O("conv2d_channels_last", "x", "bf16(n, 64, 28, 28)", "self.layer(wide(x)).to(x.dtype)",
      "self.layer(x.to(memory_format=torch.channels_last))", dtype="bfloat16", layer="nn.Conv2d(64, 128, 3, padding=1)", n=(1, 4),
      tolerance={"absolute": 0.05, "relative": 0.02, "norm": 0.01}),
    O("conv1d", "x, w", "normal(n, 64, 512), normal(64, 64, 3)", "F.conv1d(x, w, padding=1)", n=(1, 8), setup=NO_TF32),
    O("max_pool", "x", "normal(n, 64, 56, 56)", "F.max_pool2d(x, 2)", n=(1, 4)),
    O("interpolate", "x", "normal(n, 16, 64, 64)", "F.interpolate(x, scale_factor=2, mode='bilinear')", n=(1, 4)),
    O("lstm_cell", "x, h, c", "*(normal(n, 256) for _ in range(3)),", "self.layer(x, (h, c))[0]", layer="nn.LSTMCell(256, 256)",
      n=(3, 64)),
    # Places.
    O("embedding", "i", "index(1000, n),", "self.layer(i)", layer="nn.Embedding(1000, 256)", n=(3, 4096)),
    O("index_select", "x, i", "normal(1000, 256), index(1000, n)", "x[i]", n=(3, 4096)),
    O("scatter_add", "i, x", "index(1000, n), normal(n)", "torch.zeros(1000, device=x.device, dtype=x.dtype).scatter_add(0, i, x)",
      n=(3, 65536)),
    # Halfway between the edges of bins, where rounding decides nothing.
    O("histc", "x", "(index(256, n, 1024).float() + 0.5) / 32 - 4", "torch.histc(x, 256, -4, 4)", n=(3, 512)),
    O("transpose_copy", "x", "normal(n, 512)", "x.t().contiguous()"),
    O("cat", "a, b", "normal(n, 512), normal(n, 256)", "torch.cat([a, b], 1)"),
    O("where", "a, b", "normal(n, 512), normal(n, 512)", "torch.where(a > 0, a, b)"),
    O("copy", "x", "normal(n, 1024)", "torch.empty_like(x).copy_(x)"),
    O("zeros_and_add", "x", "normal(n, 1024)", "torch.zeros_like(x) + x"),
    # Factors; one waits for the device to say whether it can be solved.
    O("solve", "a, b", "normal(n, 64, 64) + 64 * torch.eye(64), normal(n, 64, 8)", "torch.linalg.solve(a, b)", n=(1, 32),
      expect=("refused", "sync_in_call")),
    O("cholesky", "x", "normal(n, 64, 64)", "torch.linalg.cholesky(x @ x.mT + 64 * torch.eye(64, device=x.device, dtype=x.dtype))",
      "torch.linalg.cholesky_ex(x @ x.mT + 64 * torch.eye(64, device=x.device))[0]", n=(1, 32)),
    O("qr", "x", "normal(n, 64, 64)", "torch.linalg.qr(x)[1].abs()", n=(1, 8)),
    O("rfft", "x", "normal(n, 4096)", "torch.fft.rfft(x).real.contiguous()", n=(3, 128), tolerance=LONG),
    # Random numbers: every replay would have the same.
    O("random_numbers", "x", "normal(n, 1024)", "x + 0", "x + torch.rand_like(x) * 0", baseline="x + 0",
      expect=("refused", "random_numbers")),
    # Kernels of one's own, several streams, many launches.
    O("triton_matmul", "a, b", "bf16(n, 512), bf16(512, 512)", "wide(a) @ wide(b)", "multiply(a, b)", n=(64, 1024),
      tolerance={"absolute": 0.01, "relative": 0.01, "norm": 1e-3}, setup=TRITON_MATMUL, baseline="a.float() @ b.float()"),
    O("triton_autotuned", "x, y", "normal(n, 1024), normal(n, 1024)", "x + y", "add(x, y)", n=(3, 512), setup=TRITON_AUTOTUNED,
      baseline="x + y"),
    O("inline_cuda", "x", "normal(n, 1024)", "(x + 1) * 2", "add_one(x)", setup=INLINE, baseline="(x + 1) * 2"),
    O("two_streams", "x, y", "normal(n, 1024), normal(n, 1024)", "x.sin() + y.cos()", "both(x, y)", n=(3, 512), setup=TWO_STREAMS,
      baseline="x.sin() + y.cos()"),
    O("two_hundred_small", "x", "normal(n * 4)", "functools.reduce(lambda y, _: y * 1.01 + 0.1, range(100), x)"),
    O("torch_compile", "x, w", "normal(n, 512), normal(512, 512)", "F.gelu(x @ w) + x", "activated(x, w)", setup=COMPILED,
      baseline="F.gelu(x @ w) + x", slow=True),
]
