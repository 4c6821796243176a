// GFLOP/s and the share of the machine's FMA peak (measured at start, on as many threads): squares,
// the products of fully connected layers and of convolutions, and the thin ones of first layers.

#include <string>

#include "benchmark/benchmark.h"
#include "kernels/gemm/gemm.h"
#include "kernels/peak/peak.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

constexpr Product kProducts[] = {
    // Squares.
    {256, 256, 256, false, false},
    {1024, 1024, 1024, false, false},
    {1024, 1024, 1024, true, false},
    {1024, 1024, 1024, false, true},
    // Fully connected, batch 64: forward, weights, data; and one image alone.
    {64, 128, 1568, false, false},
    {1568, 128, 64, true, false},
    {64, 1568, 128, false, true},
    {64, 10, 128, false, false},
    {1, 128, 1568, false, false},
    // Convolutions of 3x3 and 1x1 as products.
    {1024, 64, 576, false, false},
    {4096, 128, 1152, false, false},
    {576, 64, 1024, true, false},
    {1024, 576, 64, false, true},
    {3136, 64, 256, false, false},
    // First layers and few filters.
    {784, 8, 36, false, false},
    {36, 8, 784, true, false},
    {784, 36, 8, false, true},
    {2048, 64, 27, false, false},
    {27, 64, 2048, true, false},
    {1024, 16, 144, false, false},
};

double Peak(DType dtype) {
  static const double f32 = MeasureFmaPeakGflops(NumThreads(), DType::kFloat32);
  static const double f64 = MeasureFmaPeakGflops(NumThreads(), DType::kFloat64);
  return dtype == DType::kFloat64 ? f64 : f32;
}

void Run(benchmark::State& state, const GemmSpec& spec, std::string_view variant) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto gemm = CreateGemm(*context, spec, variant);
  if (!gemm.ok()) return state.SkipWithError(std::string(gemm.status().message()).c_str());
  const int64_t m = spec.m, n = spec.n, k = spec.k;
  const Tensor a = *Tensor::Zeros(spec.dtype, spec.transpose_a ? Shape{k, m} : Shape{m, k});
  const Tensor b = *Tensor::Zeros(spec.dtype, spec.transpose_b ? Shape{n, k} : Shape{k, n});
  const Tensor c = *Tensor::Zeros(spec.result_dtype(), {m, n});
  const auto memory = *Buffer::Allocate(Device::Cpu(), (*gemm)->workspace_bytes());
  for (auto _ : state) {
    if (!(*gemm)->Run(a, b, c, {}, {memory->data(), memory->size()}).ok())
      state.SkipWithError("failed");
  }
  using benchmark::Counter;
  const double gflop = 2e-9 * double(m) * double(n) * double(k) * double(state.iterations());
  state.counters["GFLOP/s"] = Counter(gflop, Counter::kIsRate);
  state.counters["%peak"] = Counter(100 * gflop / Peak(spec.dtype), Counter::kIsRate);
}

void Register(const Product& product, DType dtype, std::string_view variant) {
  const GemmSpec spec = {.m = product.m,
                         .n = product.n,
                         .k = product.k,
                         .transpose_a = product.transpose_a,
                         .transpose_b = product.transpose_b,
                         .dtype = dtype,
                         .wide_result = product.transpose_a && IsHalf(dtype)};
  const std::string name = StrCat("BM_Gemm/", variant, "/", spec.ToString());
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    Run(state, spec, variant);
  })->UseRealTime();
}

// Variants of the same product one after another, so that they meet the same weather.
const bool registered = [] {
  for (const Product& product : kProducts) {
    for (const std::string_view variant : GemmVariants()) {
      Register(product, DType::kFloat32, variant);
    }
    for (const std::string_view variant : {"tile", "dot", "amx"}) {
      Register(product, DType::kBfloat16, variant);
    }
  }
  for (const std::string_view variant : GemmVariants()) {
    Register({1000, 1000, 1000, false, false}, DType::kFloat64, variant);
    Register({1024, 64, 576, false, false}, DType::kFloat64, variant);
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
