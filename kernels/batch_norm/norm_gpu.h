// What the normalisations on a GPU share: views for their bodies, and checks. For the .cu files of
// this folder only.

#ifndef DTNN_KERNELS_BATCH_NORM_NORM_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_NORM_GPU_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/bodies_gpu.h"
#include "kernels/batch_norm/check.h"
#include "kernels/gpu/runner.h"
#include "kernels/workspace/scratch.h"
#include "tensor/status_macros.h"

namespace dtnn {

// Memory of `sets` sets of coefficients.
inline absl::StatusOr<Tensor> MakeNormCoefficients(DeviceContext& context,
                                                   const BatchNormSpec& spec, int64_t sets = 1) {
  return Tensor::Allocate(context.device(), WideOf(spec.dtype),
                          Shape{sets * NormCoefficients<double>::kArrays, spec.channels});
}

class NormGpu {
 protected:
  // `arrived`: of reductions.
  NormGpu(const GpuRunner& runner, const BatchNormSpec& spec, Tensor arrived)
      : runner_(runner), spec_(spec), arrived_(std::move(arrived)) {}

  // Bytes of a set of coefficients.
  size_t CoefficientBytes() const {
    return size_t(NormCoefficients<double>::kArrays * spec_.channels) * SizeOf(WideOf(spec_.dtype));
  }
  // Numbers that a reduction to so many sums per channel takes.
  int64_t MostDoubles(int sums) const {
    const ChannelLayout most =
        spec_.format == TensorFormat::kNCHW
            ? ChannelLayout{spec_.batch, spec_.channels, spec_.positions}
            : ChannelLayout{spec_.batch * spec_.positions, spec_.channels, 1};
    return gpu::ReducedParts::MostDoubles(most.extents(), sums,
                                          int(gpu::kVectorBytes / SizeOf(spec_.dtype)));
  }

  // Signs are for rows of whole vectors.
  int64_t SignsBytes() const {
    const int64_t vector = int64_t(gpu::kVectorBytes / SizeOf(spec_.dtype));
    const bool planes = spec_.format == TensorFormat::kNCHW && spec_.positions > 1;
    const bool any = spec_.cuts_by_output() && !planes && spec_.channels % vector == 0;
    return any ? spec_.positions * spec_.channels / vector : 0;
  }

  template <typename W>
  static TrackedStatistics<W> TrackedIn(double momentum, const RunningStatistics& running) {
    return {momentum, running.mean.tensor.data<W>(), running.variance.tensor.data<W>()};
  }
  template <typename W>
  NormLineMaker<W> LineMaker(double epsilon, const BatchNormParameters& parameters, std::byte* to,
                             int64_t count) const {
    return {epsilon,
            double(count),
            parameters.gamma.tensor.data<W>(),
            parameters.beta.tensor.data<W>(),
            {spec_.channels, reinterpret_cast<W*>(to)}};
  }
  template <typename W>
  ReadNormCoefficients<W> CoefficientsAt(const std::byte* coefficients) const {
    return {spec_.channels, reinterpret_cast<const W*>(coefficients)};
  }
  ChannelLayout LayoutOf(const Tensor& x) const {
    return ChannelLayout::Of(x, spec_.channels, spec_.format);
  }

  // use.template operator()<kCut>(), for what dy is cut by.
  template <class Use>
  absl::Status WithCut(const BatchNormOutput& out, const Use& use) const {
    if (!spec_.cuts_by_output()) return use.template operator()<NormCut::kNone>();
    return out.signs.empty() ? use.template operator()<NormCut::kOutput>()
                             : use.template operator()<NormCut::kSigns>();
  }
  template <typename T, int kLanes, NormCut kCut>
  NormCutter<T, kLanes, kCut> CutterOf(const Tensor& y, const Tensor& signs) const {
    return {LayoutOf(y).template ViewOf<const T, kLanes>(y), SignsAt<T, const uint8_t>(signs)};
  }
  template <typename T, typename Byte>
  NormSigns<T, Byte> SignsAt(const Tensor& signs) const {
    return {signs.empty() ? nullptr : signs.data<uint8_t>(), spec_.channels / gpu::kFullVector<T>};
  }

  // use.template operator()<T, kLanes>() for what all tensors allow.
  template <class Use>
  absl::Status WithVectors(std::initializer_list<const Tensor*> tensors, const Use& use) const {
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return WithChannelVectors<T>(LayoutOf(**tensors.begin()), tensors, [&]<int kLanes>() {
        return use.template operator()<T, kLanes>();
      });
    });
  }
  // write.template operator()<T, kLanes, kHow>(), which writes the output, and its signs where kHow
  // says so: with vectors of an element they are made of the output afterwards.
  template <NormAddend kAddend, class Write>
  absl::Status WithSigns(std::initializer_list<const Tensor*> tensors, const BatchNormOutput& out,
                         const Write& write) const {
    return WithVectors(tensors, [&]<typename T, int kLanes>() -> absl::Status {
      constexpr bool kApart = kAddend == NormAddend::kAddSigns && kLanes == 1;
      DTNN_RETURN_IF_ERROR(
          (write.template operator() < T, kLanes, kApart ? NormAddend::kAdd : kAddend > ()));
      if constexpr (!kApart) return absl::OkStatus();
      const ChannelLayout layout = LayoutOf(out.y);
      const auto signs = SignsAt<T, uint8_t>(out.signs);
      return runner_.ForEach(
          "signs of the output", layout.outer * signs.row,
          NormSignsBody<T>{out.y.template data<T>(), layout.outer, layout.PitchOf(out.y), signs});
    });
  }

  absl::Status Check(std::initializer_list<const Tensor*> tensors, Workspace workspace,
                     size_t needed) const {
    return CheckBatchNorm(spec_, runner_.device(), tensors, workspace, needed);
  }
  absl::Status CheckSigns(const Tensor& x, const BatchNormOutput& out) const {
    if (out.signs.empty()) return absl::OkStatus();
    return CheckOperand("batch normalisation", "the signs", out.signs, runner_.device(),
                        DType::kUint8, Shape{x.shape()[0], SignsBytes()}, Pitch::kNone);
  }
  template <class Statistics>
  absl::Status CheckInputs(const Statistics& statistics,
                           const BatchNormParameters& parameters) const {
    return CheckBatchNormInputs(spec_, runner_.device(), statistics, parameters);
  }
  absl::Status CheckChannels(DType dtype, std::initializer_list<const Tensor*> tensors) const {
    return CheckBatchNormChannels(spec_, runner_.device(), dtype, tensors);
  }

  GpuRunner runner_;
  BatchNormSpec spec_;
  Tensor arrived_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_NORM_GPU_H_
