#include "kernels/bias/bias_gpu.h"
#include "kernels/bias/check.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu_runner.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {

// An activation as (outer, channels, inner): images of planes (NCHW), or rows of channels with
// inner = 1.
struct BiasLayout {
  int64_t outer, channels, inner;

  DTNN_HOST_DEVICE int64_t positions() const { return outer * inner; }
  // Where position p of channel c lies in a tensor whose outer rows are `pitch` apart.
  DTNN_HOST_DEVICE int64_t At(int64_t p, int64_t c, int64_t pitch) const {
    if (inner == 1) return p * pitch + c;
    return p / inner * pitch + c * inner + p % inner;
  }
};

template <typename T>
struct BiasForwardBody {
  BiasLayout layout;
  const T *x, *bias;
  T* y;
  int64_t x_pitch, y_pitch;

  void Declare(int64_t, gpu::Accesses& accesses) {
    const int64_t row = layout.channels * layout.inner;
    accesses.Reads(x, layout.outer, row, x_pitch);
    accesses.Reads(bias, layout.channels);
    accesses.Writes(y, layout.outer, row, y_pitch);
  }
  // Neighbouring threads have neighbouring elements.
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = layout.channels * layout.inner, outer = i / row, rest = i % row;
    const int64_t channel = layout.inner == 1 ? rest : rest / layout.inner;
    y[outer * y_pitch + rest] = x[outer * x_pitch + rest] + bias[channel];
  }
};

// Thread (channel, part) sums the positions part, part + parts, ... of its channel.
template <typename T>
struct BiasPartialSumBody {
  BiasLayout layout;
  int64_t parts;
  const T* dy;
  int64_t pitch;
  T* sums;  // (parts, channels)

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(dy, layout.outer, layout.channels * layout.inner, pitch);
    accesses.Writes(sums, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const bool rows = layout.inner == 1;
    const int64_t channel = rows ? i % layout.channels : i / parts;
    const int64_t part = rows ? i / layout.channels : i % parts;
    T sum = 0;
    for (int64_t p = part; p < layout.positions(); p += parts) {
      sum += dy[layout.At(p, channel, pitch)];
    }
    sums[part * layout.channels + channel] = sum;
  }
};

template <typename T>
struct BiasTotalBody {
  int64_t channels, parts;
  bool accumulate;
  const T* sums;
  T* dbias;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Reads(sums, parts * n);
    accesses.Writes(dbias, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t channel) const {
    T sum = accumulate ? dbias[channel] : T(0);
    for (int64_t part = 0; part < parts; ++part) sum += sums[part * channels + channel];
    dbias[channel] = sum;
  }
};

class BiasGpu : public Bias {
 public:
  static constexpr int64_t kParts = 128;

  static absl::StatusOr<std::unique_ptr<Bias>> Create(const GpuRunner& runner,
                                                      const BiasSpec& spec) {
    DTNN_ASSIGN_OR_RETURN(
        Tensor sums, Tensor::Allocate(runner.device(), spec.dtype, Shape{kParts, spec.channels}));
    return std::unique_ptr<Bias>(new BiasGpu(runner, spec, sums));
  }

  absl::Status Forward(const Tensor& x, const Tensor& bias, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), x, bias, y));
    const BiasLayout layout = LayoutOf(x);
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach("bias", x.num_elements(),
                             BiasForwardBody<T>{layout, x.data<T>(), bias.data<T>(), y.data<T>(),
                                                Pitch(layout, x), Pitch(layout, y)});
    });
  }

  absl::Status Backward(const Tensor& dy, const Tensor& dbias, bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckBias(spec_, runner_.device(), dy, dbias, dy));
    const BiasLayout layout = LayoutOf(dy);
    // A part has at least 16 positions; the number of parts depends on nothing but the shape.
    const int64_t wanted = CeilDiv(layout.positions(), 16);
    const int64_t parts = wanted < kParts ? wanted : kParts;
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      DTNN_RETURN_IF_ERROR(runner_.ForEach(
          "bias gradient", parts * layout.channels,
          BiasPartialSumBody<T>{layout, parts, dy.data<T>(), Pitch(layout, dy), sums_.data<T>()}));
      return runner_.ForEach(
          "bias gradient", layout.channels,
          BiasTotalBody<T>{layout.channels, parts, accumulate, sums_.data<T>(), dbias.data<T>()});
    });
  }

 private:
  BiasGpu(const GpuRunner& runner, const BiasSpec& spec, const Tensor& sums)
      : runner_(runner), spec_(spec), sums_(sums) {}

  bool Planes(const Tensor& x) const {
    return x.shape().rank() == 4 && spec_.format == TensorFormat::kNCHW;
  }
  BiasLayout LayoutOf(const Tensor& x) const {
    const Shape& shape = x.shape();
    if (Planes(x)) return {shape[0], shape[1], shape[2] * shape[3]};
    return {x.num_elements() / spec_.channels, spec_.channels, 1};
  }
  static int64_t Pitch(const BiasLayout& layout, const Tensor& x) {
    if (x.dense()) return layout.channels * layout.inner;
    return layout.inner == 1 && x.shape().rank() == 4 ? x.PixelPitch() : x.ImagePitch();
  }

  GpuRunner runner_;
  BiasSpec spec_;
  Tensor sums_;  // of the parts of every channel
};

absl::StatusOr<std::unique_ptr<Bias>> CreateBiasGpu(DeviceContext& context, const BiasSpec& spec) {
  return BiasGpu::Create(GpuRunner(context), spec);
}

}  // namespace dtnn
