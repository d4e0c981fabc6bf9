"""
What other ways of timing say of the same call: CUPTI's record of its kernels, triton's do_bench (warm and with its L2 flush
in the usual form) and an event pair around the call.  Reads the lines of `truth` and prints the table.

    truth CANDIDATE.so N... | python3 truth.py CANDIDATE.so
"""
import ctypes
import statistics
import sys

import torch
from triton.testing import do_bench, do_bench_cudagraph

entry = ctypes.CDLL(sys.argv[1]).vector_add


def call(a, b, c):
    stream = torch.cuda.current_stream().cuda_stream
    entry(ctypes.c_void_p(a.data_ptr()), ctypes.c_void_p(b.data_ptr()), ctypes.c_void_p(c.data_ptr()),
          ctypes.c_int(a.numel()), ctypes.c_void_p(stream))


def by_cupti(run):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(50):
            run()
        torch.cuda.synchronize()
    times = [e.device_time_total for e in profile.events() if "add4" in e.name]
    return 1000 * statistics.median(times) if times else float("nan")


def by_event_pair(run):
    times = []
    for _ in range(105):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(1e6 * start.elapsed_time(stop))
    return statistics.median(times[5:])


print(f"{'n':>10} {'gate':>9} {'chain':>9} {'gate/chain':>10} {'off by':>8} | {'CUPTI':>9} {'do_bench':>9} "
      f"{'cudagraph':>9} {'pair':>9}   ns")
for line in sys.stdin:
    n, gate, chain = (float(word) for word in line.split())
    a, b = (torch.rand(int(n), device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    run = lambda: call(a, b, c)
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    others = (by_cupti(run), 1e6 * do_bench(run, return_mode="median"), 1e6 * do_bench_cudagraph(run), by_event_pair(run))
    print(f"{int(n):>10} {gate:>9.0f} {chain:>9.0f} {gate / chain:>10.4f} {gate - chain:>5.0f} ns | "
          + " ".join(f"{t:>9.0f}" for t in others))
    del a, b, c, run
