#include <vector>

#include "kernels/add/add_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu/runner.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

inline constexpr int kMostGpuAddends = 16;

// kMost: inputs that it has room for.
template <typename T, int kVector, int kMost>
struct AddBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = kMost > 2 ? 1 : 2;
  bool accumulate;
  gpu::VectorView<T, kLanes> y;
  int inputs;
  gpu::VectorView<const T, kLanes> x[kMost];

  using Kept = gpu::NothingKept;
  struct Loaded {
    W sum[kLanes];
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (int input = 0; input < inputs; ++input) x[input].Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE static void AddTo(Loaded& loaded, const gpu::Vector<T, kLanes>& vector) {
    for (int i = 0; i < kLanes; ++i) loaded.sum[i] += W(vector[i]);
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded;
    const gpu::Vector<T, kLanes> first = x[0].Load(cell);
    for (int i = 0; i < kLanes; ++i) loaded.sum[i] = W(first[i]);
    DTNN_GPU_UNROLL
    for (int input = 1; input < kMost; ++input) {
      if (input < inputs) AddTo(loaded, x[input].Load(cell));
    }
    if (accumulate) AddTo(loaded, gpu::LoadVector<kLanes, T>(y.At(cell)));
    return loaded;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) result.Set(i, T(loaded.sum[i]));
    y.Store(cell, result);
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
    std::vector<const Tensor*> tensors = {&y};
    for (const Tensor& x : inputs) tensors.push_back(&x);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return WithGridVectors<T>(grid, spec_.format, tensors, [&]<int kLanes>() {
        return inputs.size() <= 2 ? Launch<T, kLanes, 2>(grid, inputs, y, accumulate)
                                  : Launch<T, kLanes, kMostGpuAddends>(grid, inputs, y, accumulate);
      });
    });
  }

 private:
  template <typename T, int kLanes, int kMost>
  absl::Status Launch(const RowGrid& grid, std::span<const Tensor> inputs, const Tensor& y,
                      bool accumulate) const {
    AddBody<T, kLanes, kMost> body = {
        accumulate, VectorsIn<T, kLanes>(grid, y, spec_.format), int(inputs.size()), {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      body.x[i] = VectorsIn<const T, kLanes>(grid, inputs[i], spec_.format);
    }
    return runner_.ForEachVector("add", ExtentsOf(grid), body);
  }

  GpuRunner runner_;
  AddSpec spec_;
};

absl::StatusOr<std::unique_ptr<Add>> CreateAddGpu(DeviceContext& context, const AddSpec& spec) {
  return std::make_unique<AddGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
