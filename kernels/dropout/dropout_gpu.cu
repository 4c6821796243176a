#include <cmath>

#include "kernels/dropout/check.h"
#include "kernels/dropout/dropout_gpu.h"
#include "kernels/elementwise/grid_gpu.h"
#include "kernels/gpu/philox.h"
#include "kernels/gpu/runner.h"
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
    const PhiloxBlock random = BlockAt(block);
    for (int word = 0; word < 4 && block * 4 + word < size; ++word) {
      Write(block * 4 + word, random.word[word]);
    }
  }
  // A block of this call.
  DTNN_HOST_DEVICE PhiloxBlock BlockAt(int64_t block) const {
    const uint64_t begin = first_block + (step == nullptr ? 0 : blocks_per_step * uint64_t(*step));
    return PhiloxAt(seed, stream, begin + uint64_t(block));
  }
  DTNN_HOST_DEVICE void Write(int64_t element, uint32_t random) const {
    const GridCell cell = index(element);
    const bool kept = (random >> 8) * 0x1p-24 >= rate;  // Philox::ToUnit
    const Wide<T> from = Wide<T>(x[cell]);
    const Wide<T> value = kept || std::isnan(from) ? from * scale : 0;
    y[cell] = T(accumulate ? Wide<T>(y[cell]) + value : value);
  }
};

// The same where numbers are in the order (sample, pixel, channel), but memory is in that of
// (sample, channel, pixel): a thread has four channels of a pixel, its neighbour those of the next
// pixel.
template <typename T>
struct DropoutPlanesBody {
  DropoutBody<T> body;
  int64_t channels, pixels;

  void Declare(int64_t n, gpu::Accesses& accesses) { body.Declare(n, accesses); }
  DTNN_HOST_DEVICE void operator()(int64_t thread) const {
    const int64_t fours = (channels + 3) / 4, pixel = thread % pixels, rest = thread / pixels;
    const int64_t sample = rest / fours, channel = rest % fours * 4;
    const int64_t end = channel + 4 < channels ? channel + 4 : channels;
    int64_t number = (sample * pixels + pixel) * channels + channel;
    PhiloxBlock random = body.BlockAt(number / 4);
    for (int64_t c = channel; c < end; ++c, ++number) {
      if (number % 4 == 0 && c > channel) random = body.BlockAt(number / 4);
      body.Write((sample * channels + c) * pixels + pixel, random.word[number % 4]);
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
    DTNN_ASSIGN_OR_RETURN(const DropoutPlanes planes, PlanesOf(spec_, x.shape()));
    const RowGrid grid = GridOf(spec_.format, {&x, &y});
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const Wide<T> scale = spec_.rate < 1 ? Wide<T>(1 / (1 - spec_.rate)) : 0;
      const DropoutBody<T> body = {stream.seed(),
                                   stream.stream(),
                                   offset.first / 4,
                                   offset.per_step / 4,
                                   offset.step.empty() ? nullptr : offset.step.data<int64_t>(),
                                   spec_.rate,
                                   scale,
                                   accumulate,
                                   grid.size(),
                                   IndexOf(grid),
                                   ViewIn<const T>(grid, x, spec_.format),
                                   ViewIn<T>(grid, y, spec_.format)};
      if (planes.in_order()) return runner_.ForEach("dropout", (grid.size() + 3) / 4, body);
      const int64_t fours = grid.size() / planes.channels * ((planes.channels + 3) / 4);
      return runner_.ForEach("dropout", fours,
                             DropoutPlanesBody<T>{body, planes.channels, planes.pixels});
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
