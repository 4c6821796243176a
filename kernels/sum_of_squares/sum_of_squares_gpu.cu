#include <string_view>

#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "kernels/sum_of_squares/sum_of_squares_gpu.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct SumOfSquaresBody {
  const T* x;
  int64_t count, block;  // elements of all, and of one block
  double* sums;

  void Declare(int64_t rows, gpu::Accesses& accesses) {
    accesses.Reads(x, count);
    accesses.Writes(sums, rows);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t row, Group group) const {
    const int64_t begin = row * block, end = count < begin + block ? count : begin + block;
    double sum = 0;
    for (int64_t i = begin + group.lane(); i < end; i += group.size()) {
      sum += double(x[i]) * double(x[i]);
    }
    sum = group.Sum(sum);
    if (group.lane() == 0) sums[row] = sum;
  }
};

// Adds the sums of the blocks, by one warp.
struct TotalBody {
  const double* sums;
  int64_t count;
  double* total;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(sums, count);
    accesses.Writes(total, 1);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t, Group group) const {
    double sum = 0;
    for (int64_t i = group.lane(); i < count; i += group.size()) sum += sums[i];
    sum = group.Sum(sum);
    if (group.lane() == 0) *total = sum;
  }
};

class SumOfSquaresGpu : public SumOfSquares {
 public:
  SumOfSquaresGpu(const GpuRunner& runner, DType dtype) : runner_(runner), dtype_(dtype) {}

  absl::Status Queue(const Tensor& x, const Tensor& sum) override {
    DTNN_RETURN_IF_ERROR(
        CheckOperand(kName, "the array", x, runner_.device(), dtype_, x.shape(), Pitch::kNone));
    DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the sum", sum, runner_.device(), DType::kFloat64,
                                      Shape{1}, Pitch::kNone));
    constexpr int64_t kBlock = 4096;
    const int64_t count = x.num_elements(), blocks = CeilDiv(count, kBlock);
    if (blocks == 0) return runner_.context().FillZero(sum);
    if (sums_.empty() || sums_.num_elements() < blocks) {
      DTNN_ASSIGN_OR_RETURN(sums_,
                            Tensor::Allocate(runner_.device(), DType::kFloat64, Shape{blocks}));
    }
    DTNN_RETURN_IF_ERROR(DispatchFloating(dtype_, [&]<typename T>(T) {
      return runner_.ForEachRow(
          kName, blocks, SumOfSquaresBody<T>{x.data<T>(), count, kBlock, sums_.data<double>()});
    }));
    return runner_.ForEachRow("total", 1,
                              TotalBody{sums_.data<double>(), blocks, sum.data<double>()});
  }

  absl::StatusOr<double> Run(const Tensor& x) override {
    if (sum_.empty()) {
      DTNN_ASSIGN_OR_RETURN(sum_, Tensor::Allocate(runner_.device(), DType::kFloat64, Shape{1}));
      DTNN_ASSIGN_OR_RETURN(host_sum_, Tensor::Zeros(DType::kFloat64, Shape{1}));
    }
    DTNN_RETURN_IF_ERROR(Queue(x, sum_));
    DTNN_RETURN_IF_ERROR(runner_.context().Copy(sum_, host_sum_));
    DTNN_RETURN_IF_ERROR(runner_.context().Synchronize());
    return *host_sum_.data<double>();
  }

 private:
  static constexpr std::string_view kName = "sum of squares";

  GpuRunner runner_;
  DType dtype_;
  Tensor sums_;            // of blocks; allocated by the first call with so many
  Tensor sum_, host_sum_;  // of Run
};

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquaresGpu(DeviceContext& context,
                                                                    DType dtype) {
  return std::make_unique<SumOfSquaresGpu>(GpuRunner(context), dtype);
}

}  // namespace dtnn
