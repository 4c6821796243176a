#include "kernels/peak/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/amx/amx.h"
#include "kernels/amx/dots.h"
#include "kernels/amx/tiles.h"
#include "kernels/simd/unroll.h"
#include "tensor/threads/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak/peak.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `steps` FMAs on each of kChains accumulators; returns the flops. The result goes to *sink, so
// that nothing can be left out.
template <typename T>
double RunFma(int64_t steps, double* sink) {
  constexpr int kChains = 12;  // latency 4 x 2 units = 8, and AVX2 has 16 registers
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, T(0.999)), term = hn::Set(d, T(0.001));
  hn::Vec<decltype(d)> sum[kChains];
  DTNN_UNROLL(16)
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, T(i));
  for (int64_t step = 0; step < steps; ++step) {
    DTNN_UNROLL(16)
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], factor, term);
  }
  auto all = sum[0];
  DTNN_UNROLL(16)
  for (int i = 1; i < kChains; ++i) all = hn::Add(all, sum[i]);
  *sink = double(hn::GetLane(hn::SumOfLanes(d, all)));
  return 2.0 * double(steps) * kChains * double(hn::Lanes(d));
}

double FmaF32(int64_t steps, double* sink) { return RunFma<float>(steps, sink); }
double FmaF64(int64_t steps, double* sink) { return RunFma<double>(steps, sink); }

}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(FmaF32);
HWY_EXPORT(FmaF64);

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

double Fma(DType dtype, int64_t steps, double* sink) {
  return dtype == DType::kFloat64 ? HWY_DYNAMIC_DISPATCH(FmaF64)(steps, sink)
                                  : HWY_DYNAMIC_DISPATCH(FmaF32)(steps, sink);
}

// Calls work(thread) on `threads` threads, which start together (they wait for each other, but not
// for one that gets no processor), and returns the seconds until the last one is done.
template <typename F>
double Together(int threads, F&& work) {
  std::atomic<int> ready = 0;
  std::vector<double> seconds(size_t(threads), 0.0);
  ParallelThreads(threads, [&](int thread) {
    ready.fetch_add(1);
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(10);
    while (ready.load() < threads && Clock::now() < deadline) {
    }
    const Clock::time_point start = Clock::now();
    work(thread);
    seconds[size_t(thread)] = Seconds(Clock::now() - start);
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

// The best rate of several runs of work(thread, steps), which returns its flops.
template <typename F>
double BestGflops(int threads, F&& work) {
  double flops = 0;
  int64_t steps = 1 << 12;
  while (Together(1, [&](int) { flops = work(0, steps); }) < 0.01) steps *= 2;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const double seconds = Together(threads, [&](int thread) { work(thread, steps); });
    best = std::max(best, flops * threads / seconds * 1e-9);
  }
  return best;
}

#ifdef DTNN_HAS_TILES
// Many different bits, as in use: a CPU multiplies zeros at a higher frequency.
void FillAtRandom(std::span<Bfloat16> values) {
  uint32_t random = 1;
  for (Bfloat16& value : values) {
    random = random * 1664525 + 1013904223;
    value = Bfloat16(float(random) * 0x1p-31f - 1);
  }
}

// Blocks of 14 rows and 32 columns over a depth of 32 pairs, `steps` times.
double DotProducts(int64_t steps) {
  constexpr int64_t kRows = 14, kPairs = 32;
  alignas(64) Bfloat16 operands[kRows * 2 * kPairs + 2 * kPairs * 32];
  FillAtRandom(operands);
  alignas(64) float sums[kRows * 32];
  constexpr tile::Step kStep = {0, 0};
  const tile::DotBlock block = {.a = operands,
                                .a_pitch = 2 * kPairs * int64_t(sizeof(Bfloat16)),
                                .b = operands + kRows * 2 * kPairs,
                                .b_pitch = kPairs * 32,
                                .steps = &kStep,
                                .step_count = 1,
                                .pairs = kPairs,
                                .rows = kRows,
                                .panels = 2,
                                .sums = sums};
  for (int64_t step = 0; step < steps; ++step) tile::MultiplyDotsInVectors(block);
  return double(steps) * kRows * 32 * kPairs * 2 * 2;
}

// `steps` products of two tiles with two others.
double TileProducts(int64_t steps) {
  alignas(64) Bfloat16 operands[4][kTileRows * kTileBytes / sizeof(Bfloat16)];
  for (auto& tile : operands) FillAtRandom(tile);
  HardwareTiles tiles;
  tiles.Configure(ProductShapes(32));
  for (int64_t step = 0; step < steps; ++step) {
    tiles.Load<4>(operands[0], kTileBytes);
    tiles.Load<6>(operands[1], kTileBytes);
    tiles.Load<7>(operands[2], kTileBytes);
    tiles.Load<5>(operands[3], kTileBytes);
    tiles.Multiply<0, 4, 6>();
    tiles.Multiply<1, 4, 7>();
    tiles.Multiply<2, 5, 6>();
    tiles.Multiply<3, 5, 7>();
  }
  tiles.Release();
  return double(steps) * 4 * 2 * 16 * 16 * 32;
}
#endif

}  // namespace

double MeasureFmaPeakGflops(int threads, DType dtype) {
  threads = std::clamp(threads, 1, NumThreads());
  std::vector<double> sinks(size_t(threads) * 8);  // a cache line each
  return BestGflops(threads, [&](int thread, int64_t steps) {
    return Fma(dtype, steps, &sinks[size_t(thread) * 8]);
  });
}

double MeasureTilePeakGflops(int threads) {
#ifdef DTNN_HAS_TILES
  if (AmxRefusal().empty()) {
    return BestGflops(std::clamp(threads, 1, NumThreads()),
                      [](int, int64_t steps) { return TileProducts(steps); });
  }
#endif
  static_cast<void>(threads);
  return 0;
}

double MeasureDotPeakGflops(int threads) {
#ifdef DTNN_HAS_TILES
  if (DotRefusal().empty()) {
    return BestGflops(std::clamp(threads, 1, NumThreads()),
                      [](int, int64_t steps) { return DotProducts(steps); });
  }
#endif
  static_cast<void>(threads);
  return 0;
}

double MeasureCopyBandwidth(int threads) {
  constexpr size_t kBytes = size_t{64} << 20;
  threads = std::clamp(threads, 1, NumThreads());
  std::vector<std::vector<char>> from(static_cast<size_t>(threads)),
      to(static_cast<size_t>(threads));
  Together(threads, [&](int thread) {  // first touch by the thread that uses it
    from[size_t(thread)].assign(kBytes, 1);
    to[size_t(thread)].assign(kBytes, 2);
  });
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const double seconds = Together(threads, [&](int thread) {
      std::memcpy(to[size_t(thread)].data(), from[size_t(thread)].data(), kBytes);
    });
    best = std::max(best, 2.0 * double(kBytes) * threads / seconds * 1e-9);
  }
  return best;
}

}  // namespace dtnn
#endif  // HWY_ONCE
