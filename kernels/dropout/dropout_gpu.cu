#include <cmath>

#include "kernels/device/philox_gpu.h"
#include "kernels/dropout/check.h"
#include "kernels/dropout/dropout_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct DropoutBody {
  uint64_t seed, stream, first_block, blocks_per_step;
  const int64_t* step;  // null: 0
  double rate;
  Wide<T> scale;
  bool accumulate;
  int64_t size;
  GridIndex index;
  GridView<const T> x;
  GridView<T> y;

  void Declare(int64_t, gpu::Accesses& accesses) {
    x.Declare(index, accesses);
    y.Declare(index, accesses);
    accesses.Reads(step, 1);
  }
  DTNN_HOST_DEVICE void operator()(int64_t block) const {
    const uint64_t begin = first_block + (step == nullptr ? 0 : blocks_per_step * uint64_t(*step));
    const PhiloxBlock random = PhiloxAt(seed, stream, begin + uint64_t(block));
    for (int word = 0; word < 4 && block * 4 + word < size; ++word) {
      const GridCell cell = index(block * 4 + word);
      const bool kept = (random.word[word] >> 8) * 0x1p-24 >= rate;  // Philox::ToUnit
      const Wide<T> from = Wide<T>(x[cell]);
      const Wide<T> value = kept || std::isnan(from) ? from * scale : 0;
      y[cell] = T(accumulate ? Wide<T>(y[cell]) + value : value);
    }
  }
};

class DropoutGpu : public Dropout {
 public:
  DropoutGpu(const GpuRunner& runner, const DropoutSpec& spec) : runner_(runner), spec_(spec) {}

  absl::Status Run(const Tensor& x, const Philox& stream, const RandomOffset& offset,
                   const Tensor& y, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckOperands("dropout", runner_.device(), spec_.dtype, {&x, &y}));
    DTNN_RETURN_IF_ERROR(CheckOffset(runner_.device(), offset));
    const RowGrid grid = GridOf(spec_.format, {&x, &y});
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const Wide<T> scale = spec_.rate < 1 ? Wide<T>(1 / (1 - spec_.rate)) : 0;
      return runner_.ForEach(
          "dropout", (grid.size() + 3) / 4,
          DropoutBody<T>{stream.seed(), stream.stream(), offset.first / 4, offset.per_step / 4,
                         offset.step.empty() ? nullptr : offset.step.data<int64_t>(), spec_.rate,
                         scale, accumulate, grid.size(), IndexOf(grid),
                         ViewIn<const T>(grid, x, spec_.format), ViewIn<T>(grid, y, spec_.format)});
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
