// The CUDA implementation of Dropout: one thread per four elements, which share one block of random
// numbers. It drops exactly the elements that the CPU drops.

#ifndef DTNN_KERNELS_DROPOUT_DROPOUT_CUDA_H_
#define DTNN_KERNELS_DROPOUT_DROPOUT_CUDA_H_

#include <cmath>
#include <memory>

#include "kernels/dropout/dropout.h"
#include "kernels/dropout/philox_cuda.h"
#include "kernels/elementwise/grid_cuda.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropoutCuda(DeviceContext& context,
                                                           const DropoutSpec& spec);

template <typename T>
struct DropoutBody {
  uint64_t seed, stream, first_block;
  double rate;
  T scale;
  bool accumulate;
  int64_t size;
  GridIndex index;
  GridView<const T> x;
  GridView<T> y;

  DTNN_HOST_DEVICE void operator()(int64_t block) const {
    const PhiloxBlock random = PhiloxAt(seed, stream, first_block + uint64_t(block));
    for (int word = 0; word < 4 && block * 4 + word < size; ++word) {
      const GridCell cell = index(block * 4 + word);
      const bool kept = (random.word[word] >> 8) * 0x1p-24 >= rate;  // Philox::ToUnit
      const T value = kept || std::isnan(x[cell]) ? x[cell] * scale : T(0);
      y[cell] = accumulate ? y[cell] + value : value;
    }
  }
};

template <class Runner>
class DropoutCuda : public Dropout {
 public:
  DropoutCuda(const Runner& runner, const DropoutSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Run(const Tensor& x, const Philox& stream, uint64_t offset, const Tensor& y,
                   bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckOperands("dropout", runner_.device(), spec_.dtype, {&x, &y}));
    if (offset % 4 != 0) {
      return absl::InvalidArgumentError("dropout: the offset must be a multiple of 4");
    }
    const RowGrid grid = GridOf(spec_.format, {&x, &y});
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      const T scale = spec_.rate < 1 ? T(1 / (1 - spec_.rate)) : T(0);
      return runner_.ForEach(
          "dropout", (grid.size() + 3) / 4,
          DropoutBody<T>{stream.seed(), stream.stream(), offset / 4, spec_.rate, scale, accumulate,
                         grid.size(), IndexOf(grid), ViewIn<const T>(grid, x, spec_.format),
                         ViewIn<T>(grid, y, spec_.format)});
    });
  }

 private:
  Runner runner_;
  DropoutSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_DROPOUT_DROPOUT_CUDA_H_
