// The CUDA implementation of Add: one thread per element, one pass over memory; up to 16 inputs.

#ifndef DTNN_KERNELS_ADD_ADD_CUDA_H_
#define DTNN_KERNELS_ADD_ADD_CUDA_H_

#include <memory>

#include "kernels/add/add.h"
#include "kernels/cuda_launch.h"
#include "kernels/elementwise/grid_cuda.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Add>> CreateAddCuda(DeviceContext& context, const AddSpec& spec);

inline constexpr int kMostCudaAddends = 16;

template <typename T>
struct AddBody {
  GridIndex index;
  bool accumulate;
  GridView<T> y;
  int inputs;
  GridView<const T> x[kMostCudaAddends];

  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const GridCell cell = index(i);
    T sum = x[0][cell];
    for (int input = 1; input < inputs; ++input) sum += x[input][cell];
    y[cell] = accumulate ? sum + y[cell] : sum;
  }
};

template <class Runner>
class AddCuda : public Add {
 public:
  AddCuda(const Runner& runner, const AddSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Run(std::span<const Tensor> inputs, const Tensor& y, bool accumulate) override {
    if (inputs.empty() || inputs.size() > kMostCudaAddends) {
      return InvalidArgument("add: ", inputs.size(), " inputs; on a GPU expected 1 to ",
                             kMostCudaAddends);
    }
    RowGrid grid = GridOf(spec_.format, {&y});
    for (const Tensor& x : inputs) {
      DTNN_RETURN_IF_ERROR(CheckOperands("add", runner_.device(), spec_.dtype, {&y, &x}));
      if (!x.dense()) grid = GridOf(spec_.format, {&x});
    }
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      AddBody<T> body = {
          IndexOf(grid), accumulate, ViewIn<T>(grid, y, spec_.format), int(inputs.size()), {}};
      for (size_t i = 0; i < inputs.size(); ++i) {
        body.x[i] = ViewIn<const T>(grid, inputs[i], spec_.format);
      }
      return runner_.ForEach("add", grid.size(), body);
    });
  }

 private:
  Runner runner_;
  AddSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_ADD_ADD_CUDA_H_
