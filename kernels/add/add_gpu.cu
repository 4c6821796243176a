#include "kernels/add/add_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

inline constexpr int kMostGpuAddends = 16;

template <typename T>
struct AddBody {
  using W = Wide<T>;
  GridIndex index;
  bool accumulate;
  GridView<T> y;
  int inputs;
  GridView<const T> x[kMostGpuAddends];

  void Declare(int64_t, gpu::Accesses& accesses) {
    for (int input = 0; input < inputs; ++input) x[input].Declare(index, accesses);
    y.Declare(index, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const GridCell cell = index(i);
    W sum = W(x[0][cell]);
    for (int input = 1; input < inputs; ++input) sum += W(x[input][cell]);
    y[cell] = T(accumulate ? sum + W(y[cell]) : sum);
  }
};

class AddGpu : public Add {
 public:
  AddGpu(const GpuRunner& runner, const AddSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Run(std::span<const Tensor> inputs, const Tensor& y, bool accumulate) override {
    if (inputs.empty() || inputs.size() > kMostGpuAddends) {
      return InvalidArgument("add: ", inputs.size(), " inputs; on a GPU expected 1 to ",
                             kMostGpuAddends);
    }
    RowGrid grid = GridOf(spec_.format, {&y});
    for (const Tensor& x : inputs) {
      DTNN_RETURN_IF_ERROR(CheckOperands("add", runner_.device(), spec_.dtype, {&y, &x}));
      if (!x.dense()) grid = GridOf(spec_.format, {&x});
    }
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      AddBody<T> body = {
          IndexOf(grid), accumulate, ViewIn<T>(grid, y, spec_.format), int(inputs.size()), {}};
      for (size_t i = 0; i < inputs.size(); ++i) {
        body.x[i] = ViewIn<const T>(grid, inputs[i], spec_.format);
      }
      return runner_.ForEach("add", grid.size(), body);
    });
  }

 private:
  GpuRunner runner_;
  AddSpec spec_;
};

absl::StatusOr<std::unique_ptr<Add>> CreateAddGpu(DeviceContext& context, const AddSpec& spec) {
  return std::make_unique<AddGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
