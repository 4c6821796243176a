#include "kernels/sum_of_squares/sum_of_squares.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/elementwise/operands.h"
#include "kernels/operands/operand.h"
#include "kernels/sum_of_squares/sum_of_squares_gpu.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sum_of_squares/sum_of_squares.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

using Doubles = hn::ScalableTag<double>;

HWY_INLINE hn::Vec<Doubles> LoadDoubles(Doubles d, const double* x) { return hn::LoadU(d, x); }
HWY_INLINE hn::Vec<Doubles> LoadDoubles(Doubles d, const float* x) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Doubles>(), x));
}

template <typename T>
double SumTyped(const T* x, int64_t count) {
  const Doubles d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto x0 = LoadDoubles(d, x + i), x1 = LoadDoubles(d, x + i + lanes);
    const auto x2 = LoadDoubles(d, x + i + 2 * lanes), x3 = LoadDoubles(d, x + i + 3 * lanes);
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
    sum2 = hn::MulAdd(x2, x2, sum2);
    sum3 = hn::MulAdd(x3, x3, sum3);
  }
  const auto sums = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) sum += double(x[i]) * double(x[i]);
  return sum;
}

double SumOfBlock(DType dtype, const void* x, int64_t begin, int64_t end) {
  return dtype == DType::kFloat32 ? SumTyped(static_cast<const float*>(x) + begin, end - begin)
                                  : SumTyped(static_cast<const double*>(x) + begin, end - begin);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(SumOfBlock);

class SumOfSquaresCpu : public SumOfSquares {
 public:
  explicit SumOfSquaresCpu(DType dtype) : dtype_(dtype) {}

  absl::StatusOr<double> Run(const Tensor& x) override {
    DTNN_RETURN_IF_ERROR(CheckOperand("sum of squares", "the array", x, Device::Cpu(), dtype_,
                                      x.shape(), Pitch::kNone));
    const int64_t count = x.num_elements(), blocks = CeilDiv(count, kCopyGrain);
    sums_.resize(size_t(blocks));
    ParallelFor(0, blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        sums_[size_t(block)] = HWY_DYNAMIC_DISPATCH(SumOfBlock)(
            dtype_, x.raw_data(), block * kCopyGrain, std::min(count, (block + 1) * kCopyGrain));
      }
    });
    return std::accumulate(sums_.begin(), sums_.end(), 0.0);
  }

  absl::Status Queue(const Tensor& x, const Tensor& sum) override {
    DTNN_RETURN_IF_ERROR(CheckOperand("sum of squares", "the sum", sum, Device::Cpu(),
                                      DType::kFloat64, Shape{1}, Pitch::kNone));
    DTNN_ASSIGN_OR_RETURN(*sum.data<double>(), Run(x));
    return absl::OkStatus();
  }

 private:
  DType dtype_;
  std::vector<double> sums_;  // of each block of kCopyGrain elements
};

}  // namespace

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquares(DeviceContext& context,
                                                                 DType dtype) {
  DTNN_RETURN_IF_ERROR(CheckFloating("sum of squares", dtype));
  if (context.device().is_cpu()) return std::make_unique<SumOfSquaresCpu>(dtype);
  return CreateSumOfSquaresGpu(context, dtype);
}

}  // namespace dtnn
#endif  // HWY_ONCE
