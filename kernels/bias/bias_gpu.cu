#include "kernels/bias/bias_gpu.h"
#include "kernels/bias/check.h"
#include "kernels/channels_gpu.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct BiasForwardBody {
  ChannelLayout layout;
  const T* x;
  const Wide<T>* bias;
  T* y;
  int64_t x_pitch, y_pitch;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(x, layout.outer, layout.row(), x_pitch);
    accesses.Reads(bias, layout.channels);
    accesses.Writes(y, layout.outer, layout.row(), y_pitch);
  }
  // Neighbouring threads have neighbouring elements.
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t outer = i / layout.row(), rest = i % layout.row();
    y[outer * y_pitch + rest] =
        T(Wide<T>(x[outer * x_pitch + rest]) + bias[layout.ChannelAt(rest)]);
  }
};

template <typename T>
struct BiasPartialSumBody {
  ChannelLayout layout;
  ChannelParts parts;
  const T* dy;
  int64_t pitch;
  Wide<T>* sums;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(dy, layout.outer, layout.row(), pitch);
    accesses.Writes(sums, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t channel = parts.ChannelOf(i), part = parts.PartOf(i);
    Wide<T> sum = 0;
    for (int64_t p = part; p < layout.positions(); p += parts.parts) {
      sum += Wide<T>(dy[layout.At(p, channel, pitch)]);
    }
    sums[parts.At(part, channel)] = sum;
  }
};

class BiasGpu : public Bias {
 public:
  static absl::StatusOr<std::unique_ptr<Bias>> Create(const GpuRunner& runner,
                                                      const BiasSpec& spec) {
    DTNN_ASSIGN_OR_RETURN(Tensor sums, Tensor::Allocate(runner.device(), WideOf(spec.dtype),
                                                        Shape{ChannelParts::kMost, spec.channels}));
    return std::unique_ptr<Bias>(new BiasGpu(runner, spec, sums));
  }

  absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), x, bias, y));
    const ChannelLayout layout = ChannelLayout::Of(x, spec_.channels, spec_.format);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach("bias", x.num_elements(),
                             BiasForwardBody<T>{layout, x.data<T>(), bias.data<Wide<T>>(),
                                                y.data<T>(), layout.PitchOf(x), layout.PitchOf(y)});
    });
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), dy, dbias, dy));
    const ChannelLayout layout = ChannelLayout::Of(dy, spec_.channels, spec_.format);
    const ChannelParts parts = ChannelParts::Of(layout);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      DTNN_RETURN_IF_ERROR(runner_.ForEach(
          "bias gradient", parts.threads(),
          BiasPartialSumBody<T>{layout, parts, dy.data<T>(), layout.PitchOf(dy), sums_.data<W>()}));
      return runner_.ForEach("bias gradient", layout.channels,
                             AddPartsBody<W>{parts, accumulate, sums_.data<W>(), dbias.data<W>()});
    });
  }

 private:
  BiasGpu(const GpuRunner& runner, const BiasSpec& spec, const Tensor& sums)
      : runner_(runner), spec_(spec), sums_(sums) {}

  GpuRunner runner_;
  BiasSpec spec_;
  Tensor sums_;  // of the parts of every channel
};

absl::StatusOr<std::unique_ptr<Bias>> CreateBiasGpu(DeviceContext& context, const BiasSpec& spec) {
  return BiasGpu::Create(GpuRunner(context), spec);
}

}  // namespace dtnn
