#include <numeric>

#include "kernels/gpu_runner.h"
#include "kernels/operand.h"
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

class SumOfSquaresGpu : public SumOfSquares {
 public:
  SumOfSquaresGpu(const GpuRunner& runner, DeviceContext& context, DType dtype)
      : runner_(runner), context_(&context), dtype_(dtype) {}

  absl::StatusOr<double> Run(const Tensor& x) override {
    DTNN_RETURN_IF_ERROR(CheckOperand("sum of squares", "the array", x, runner_.device(), dtype_,
                                      x.shape(), Pitch::kNone));
    constexpr int64_t kBlock = 4096;
    const int64_t count = x.num_elements(), blocks = CeilDiv(count, kBlock);
    if (blocks == 0) return 0.0;
    if (sums_.empty() || sums_.num_elements() != blocks) {
      DTNN_ASSIGN_OR_RETURN(sums_,
                            Tensor::Allocate(context_->device(), DType::kFloat64, Shape{blocks}));
      DTNN_ASSIGN_OR_RETURN(host_sums_, Tensor::Zeros(DType::kFloat64, Shape{blocks}));
    }
    DTNN_RETURN_IF_ERROR(DispatchFloating(dtype_, [&]<typename T>(T) {
      return runner_.ForEachRow(
          "sum of squares", blocks,
          SumOfSquaresBody<T>{x.data<T>(), count, kBlock, sums_.data<double>()});
    }));
    DTNN_RETURN_IF_ERROR(context_->Copy(sums_, host_sums_));
    DTNN_RETURN_IF_ERROR(context_->Synchronize());
    const double* sums = host_sums_.data<double>();
    return std::accumulate(sums, sums + blocks, 0.0);
  }

 private:
  GpuRunner runner_;
  DeviceContext* context_;
  DType dtype_;
  Tensor sums_, host_sums_;
};

absl::StatusOr<std::unique_ptr<SumOfSquares>> CreateSumOfSquaresGpu(DeviceContext& context,
                                                                    DType dtype) {
  return std::make_unique<SumOfSquaresGpu>(GpuRunner(context), context, dtype);
}

}  // namespace dtnn
