#include <utility>

#include "kernels/batch_norm/batch_norm_gpu.h"
#include "kernels/batch_norm/bodies_gpu.h"
#include "kernels/batch_norm/check.h"
#include "kernels/gpu_runner.h"
#include "kernels/scratch.h"
#include "tensor/status_macros.h"

namespace dtnn {

class BatchNormGpu : public BatchNorm {
 public:
  BatchNormGpu(const GpuRunner& runner, const BatchNormSpec& spec, Tensor line)
      : runner_(runner), spec_(spec), line_(std::move(line)) {}

  absl::Status Statistics(const Tensor& x, const BatchStatistics& statistics,
                          Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x}, workspace));
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    if (x.num_elements() == 0) return NothingToMeasure();
    const ChannelLayout layout = LayoutOf(x);
    const ChannelParts parts = ChannelParts::Of(layout);
    const Division memory = Divide(workspace.data());
    DTNN_RETURN_IF_ERROR(DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "batch statistics", parts.threads(),
          MomentsBody<T>{
              layout, parts, x.data<T>(), layout.PitchOf(x), {memory.sums, parts.threads()}});
    }));
    return runner_.ForEach(
        "batch statistics", spec_.channels,
        MomentsTotalBody{layout, parts, memory.sums, statistics.mean.data<double>(),
                         statistics.variance.data<double>()});
  }

  absl::Status Apply(const Tensor& x, const BatchStatistics& statistics,
                     const BatchNormParameters& parameters, const Tensor& y,
                     Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    std::byte* const coefficients = Divide(workspace.data()).coefficients;
    DTNN_RETURN_IF_ERROR(SetLine(statistics, parameters, coefficients));
    return Write(x, coefficients, y);
  }

  absl::Status Track(const BatchStatistics& statistics, const RunningStatistics& running) override {
    const Tensor &mean = running.mean.tensor, &variance = running.variance.tensor;
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&mean, &variance}));
    return DispatchFloating(WideOf(spec_.dtype), [&]<typename T>(T) {
      return runner_.ForEach(
          "running statistics", spec_.channels,
          NormTrackBody<T>{spec_.momentum, statistics.mean.data<double>(),
                           statistics.variance.data<double>(), mean.data<T>(), variance.data<T>()});
    });
  }

  absl::Status Infer(const Tensor& x, const BatchNormParameters& parameters,
                     const RunningStatistics& running, const Tensor& y,
                     Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    DTNN_RETURN_IF_ERROR(RenewLine(parameters, running));
    return Write(x, line_.raw_data(), y);
  }

  absl::Status Gradients(const Tensor& x, const Tensor& dy, const BatchStatistics& statistics,
                         const BatchNormParameters& parameters, const BatchNormGradients& gradients,
                         Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&gradients.gamma, &gradients.beta}));
    const ChannelLayout layout = LayoutOf(x);
    const ChannelParts parts = ChannelParts::Of(layout);
    const Division memory = Divide(workspace.data());
    DTNN_RETURN_IF_ERROR(SetLine(statistics, parameters, memory.coefficients));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      const ReadNormCoefficients<W> coefficients = CoefficientsAt<W>(memory.coefficients);
      DTNN_RETURN_IF_ERROR(runner_.ForEach("normalisation gradients", parts.threads(),
                                           NormGradientsBody<T>{spec_.relu,
                                                                layout,
                                                                parts,
                                                                coefficients,
                                                                x.data<T>(),
                                                                layout.PitchOf(x),
                                                                dy.data<T>(),
                                                                layout.PitchOf(dy),
                                                                {memory.sums, parts.threads()}}));
      return runner_.ForEach("normalisation gradients", spec_.channels,
                             NormGradientsTotalBody<W>{
                                 spec_.epsilon, parts, memory.sums, statistics.mean.data<double>(),
                                 statistics.variance.data<double>(), coefficients,
                                 gradients.gamma.data<W>(), gradients.beta.data<W>()});
    });
  }

  absl::Status BackwardData(const Tensor& x, const Tensor& dy, const BatchStatistics& statistics,
                            const BatchNormParameters& parameters,
                            const BatchNormGradients& gradients, int64_t count, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy, &dx}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&gradients.gamma, &gradients.beta}));
    std::byte* const coefficients = Divide(workspace.data()).coefficients;
    DTNN_RETURN_IF_ERROR(SetLine(statistics, parameters, coefficients, gradients, count));
    return WriteGradient(x, dy, coefficients, dx, accumulate);
  }

  absl::Status BackwardInfer(const Tensor& x, const Tensor& dy,
                             const BatchNormParameters& parameters,
                             const RunningStatistics& running, const Tensor& dx, bool accumulate,
                             Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy, &dx}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    DTNN_RETURN_IF_ERROR(RenewLine(parameters, running));
    return WriteGradient(x, dy, line_.raw_data(), dx, accumulate);
  }

  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

 private:
  struct Division {
    double* sums;
    std::byte* coefficients;
    size_t bytes;
  };
  Division Divide(std::byte* memory) const {
    ScratchDivider divider(memory, kGpuScratchAlignment);
    Division division;
    division.sums = divider.Take<double>(2 * ChannelParts::kMost * spec_.channels);
    division.coefficients = divider.Take<std::byte>(
        NormCoefficients<double>::kArrays * spec_.channels * int64_t(SizeOf(WideOf(spec_.dtype))));
    division.bytes = divider.bytes();
    return division;
  }

  absl::Status RenewLine(const BatchNormParameters& parameters, const RunningStatistics& running) {
    return line_versions_.Renew(parameters, running, [&] {
      return DispatchFloating(WideOf(spec_.dtype), [&]<typename T>(T) {
        return SetLine<T, T>(running.mean.tensor, running.variance.tensor, parameters,
                             line_.raw_data(), BatchNormGradients(), 1);
      });
    });
  }
  absl::Status SetLine(const BatchStatistics& statistics, const BatchNormParameters& parameters,
                       std::byte* to, const BatchNormGradients& gradients = {}, int64_t count = 1) {
    return DispatchFloating(WideOf(spec_.dtype), [&]<typename T>(T) {
      return SetLine<T, double>(statistics.mean, statistics.variance, parameters, to, gradients,
                                count);
    });
  }
  template <typename T, typename S>
  absl::Status SetLine(const Tensor& mean, const Tensor& variance,
                       const BatchNormParameters& parameters, std::byte* to,
                       const BatchNormGradients& gradients, int64_t count) {
    const bool slopes = !gradients.gamma.empty();
    return runner_.ForEach("normalisation line", spec_.channels,
                           NormLineBody<T, S>{spec_.epsilon,
                                              double(count),
                                              mean.data<S>(),
                                              variance.data<S>(),
                                              parameters.gamma.tensor.data<T>(),
                                              parameters.beta.tensor.data<T>(),
                                              slopes ? gradients.gamma.data<T>() : nullptr,
                                              slopes ? gradients.beta.data<T>() : nullptr,
                                              {spec_.channels, reinterpret_cast<T*>(to)}});
  }

  absl::Status Write(const Tensor& x, std::byte* coefficients, const Tensor& y) {
    const ChannelLayout layout = LayoutOf(x);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "normalisation", x.num_elements(),
          NormApplyBody<T>{spec_.relu, layout, CoefficientsAt<Wide<T>>(coefficients), x.data<T>(),
                           layout.PitchOf(x), y.data<T>(), layout.PitchOf(y)});
    });
  }
  absl::Status WriteGradient(const Tensor& x, const Tensor& dy, std::byte* coefficients,
                             const Tensor& dx, bool accumulate) {
    const ChannelLayout layout = LayoutOf(x);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "normalisation gradient", x.num_elements(),
          NormDataBody<T>{spec_.relu, accumulate, layout, CoefficientsAt<Wide<T>>(coefficients),
                          x.data<T>(), layout.PitchOf(x), dy.data<T>(), layout.PitchOf(dy),
                          dx.data<T>(), layout.PitchOf(dx)});
    });
  }

  template <typename T>
  ReadNormCoefficients<T> CoefficientsAt(const std::byte* coefficients) const {
    return {spec_.channels, reinterpret_cast<const T*>(coefficients)};
  }
  ChannelLayout LayoutOf(const Tensor& x) const {
    return ChannelLayout::Of(x, spec_.channels, spec_.format);
  }
  absl::Status Check(std::initializer_list<const Tensor*> tensors, Workspace workspace) const {
    return CheckBatchNorm(spec_, runner_.device(), tensors, workspace, workspace_bytes());
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
  Tensor line_;  // coefficients of the parameters and running statistics of `line_versions_`
  LineVersions line_versions_;
};

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNormGpu(DeviceContext& context,
                                                              const BatchNormSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(Tensor line,
                        Tensor::Allocate(context.device(), WideOf(spec.dtype),
                                         Shape{NormCoefficients<double>::kArrays, spec.channels}));
  return std::make_unique<BatchNormGpu>(GpuRunner(context), spec, std::move(line));
}

}  // namespace dtnn
