#include <cmath>

#include "kernels/dropout/dropout_gpu.h"
#include "kernels/dropout/philox_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

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

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(index, accesses);
    y.Declare(index, accesses);
  }
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

class DropoutGpu : public Dropout {
 public:
  DropoutGpu(const GpuRunner& runner, const DropoutSpec& spec) : runner_(runner), spec_(spec) {}

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
  GpuRunner runner_;
  DropoutSpec spec_;
};

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropoutGpu(DeviceContext& context,
                                                          const DropoutSpec& spec) {
  return std::make_unique<DropoutGpu>(GpuRunner(context), spec);
}

}  // namespace dtnn
