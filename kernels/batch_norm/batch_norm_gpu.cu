#include <utility>

#include "kernels/batch_norm/batch_norm_gpu.h"
#include "kernels/batch_norm/norm_gpu.h"
#include "tensor/status_macros.h"

namespace dtnn {

class BatchNormGpu : public BatchNorm, NormGpu {
 public:
  BatchNormGpu(const GpuRunner& runner, const BatchNormSpec& spec, Tensor line, Tensor batch_line,
               Tensor arrived)
      : NormGpu(runner, spec, std::move(arrived)),
        line_(std::move(line)),
        batch_line_(std::move(batch_line)) {}

  int64_t signs_bytes() const override { return SignsBytes(); }

  absl::Status Statistics(const Tensor& x, const BatchStatistics& statistics,
                          Workspace workspace) override {
    return Measure(x, statistics, workspace, nullptr, nullptr);
  }

  absl::Status Apply(const Tensor& x, const BatchStatistics& statistics,
                     const BatchNormParameters& parameters, const Tensor& addend,
                     const BatchNormOutput& out, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckForward(x, addend, out, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    std::byte* const coefficients = Divide(workspace.data()).coefficients;
    DTNN_RETURN_IF_ERROR(SetLine(statistics, parameters, coefficients));
    return Write(x, coefficients, addend, out);
  }

  absl::Status Track(const BatchStatistics& statistics, const RunningStatistics& running) override {
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    DTNN_RETURN_IF_ERROR(
        CheckChannels(WideOf(spec_.dtype), {&running.mean.tensor, &running.variance.tensor}));
    return DispatchFloating(WideOf(spec_.dtype), [&]<typename W>(W) {
      return runner_.ForEach(
          "running statistics", spec_.channels,
          NormTrackBody<W>{statistics.mean.data<double>(), statistics.variance.data<double>(),
                           TrackedIn<W>(spec_.momentum, running)});
    });
  }

  absl::Status Normalize(const Tensor& x, const BatchStatistics& statistics,
                         const BatchNormParameters& parameters, const RunningStatistics& running,
                         const Tensor& addend, const BatchNormOutput& out,
                         Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckForward(x, addend, out, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(
        CheckChannels(WideOf(spec_.dtype), {&running.mean.tensor, &running.variance.tensor}));
    DTNN_RETURN_IF_ERROR(Measure(x, statistics, workspace, &running, &parameters));
    return Write(x, batch_line_.raw_data(), addend, out);
  }

  absl::Status Infer(const Tensor& x, const BatchNormParameters& parameters,
                     const RunningStatistics& running, const Tensor& addend,
                     const BatchNormOutput& out, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckForward(x, addend, out, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    DTNN_RETURN_IF_ERROR(RenewLine(parameters, running));
    return Write(x, line_.raw_data(), addend, out);
  }

  absl::Status Gradients(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                         const BatchStatistics& statistics, const BatchNormParameters& parameters,
                         const BatchNormGradients& gradients, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckBackward(x, out, dy, dy, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    const Division memory = Divide(workspace.data());
    DTNN_RETURN_IF_ERROR(SetLine(statistics, parameters, memory.coefficients));
    return SumGradients(x, out, dy, statistics, gradients, memory.coefficients, memory.sums,
                        nullptr);
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

  absl::Status Backward(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                        const BatchStatistics& statistics, const BatchNormParameters& parameters,
                        const BatchNormGradients& gradients, const Tensor& dx, bool accumulate,
                        Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckBackward(x, out, dy, dx, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(SumGradients(x, out, dy, statistics, gradients, batch_line_.raw_data(),
                                      Divide(workspace.data()).sums, &parameters));
    return WriteGradient(x, dy, batch_line_.raw_data(), dx, accumulate);
  }

  absl::Status BackwardInfer(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                             const BatchNormParameters& parameters,
                             const RunningStatistics& running, const Tensor& dx, bool accumulate,
                             Workspace workspace) override {
    const bool cuts = spec_.cuts_by_output(), cuts_only = cuts && dx.empty();
    DTNN_RETURN_IF_ERROR(CheckBackward(x, out, dy, cuts_only ? dy : dx, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    if (cuts) DTNN_RETURN_IF_ERROR(Cut(out, dy));
    if (cuts_only) return absl::OkStatus();
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
    division.sums = divider.Take<double>(MostDoubles(2));
    division.coefficients = divider.Take<std::byte>(int64_t(CoefficientBytes()));
    division.bytes = divider.bytes();
    return division;
  }

  // With `running`, tracks; with `parameters`, sets the line of the batch.
  absl::Status Measure(const Tensor& x, const BatchStatistics& statistics, Workspace workspace,
                       const RunningStatistics* running, const BatchNormParameters* parameters) {
    DTNN_RETURN_IF_ERROR(Check({&x}, workspace));
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    if (x.num_elements() == 0) return NothingToMeasure();
    const ChannelLayout layout = LayoutOf(x);
    double* const sums = Divide(workspace.data()).sums;
    return WithVectors({&x}, [&]<typename T, int kLanes>() {
      using W = Wide<T>;
      const MomentsBody<T, kLanes> body = {layout.planes(), layout.ViewOf<const T, kLanes>(x),
                                           layout.outer / 2, layout.inner / 2};
      return runner_.ReduceChannels(
          "batch statistics", layout.extents(), body, sums, arrived_,
          MomentsFinish<T>{
              double(layout.positions()), body.pivots(), body.pivot_step(),
              statistics.mean.data<double>(), statistics.variance.data<double>(),
              running == nullptr ? TrackedStatistics<W>() : TrackedIn<W>(spec_.momentum, *running),
              parameters == nullptr
                  ? NormLineMaker<W>()
                  : LineMaker<W>(spec_.epsilon, *parameters, batch_line_.raw_data(), 1)});
    });
  }
  // With `parameters`, sets the slopes of the batch's line too.
  absl::Status SumGradients(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                            const BatchStatistics& statistics, const BatchNormGradients& gradients,
                            const std::byte* coefficients, double* sums,
                            const BatchNormParameters* parameters) {
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&gradients.gamma, &gradients.beta}));
    const ChannelLayout layout = LayoutOf(x);
    return WithCut(out, [&]<NormCut kCut>() {
      const Tensor& y = kCut == NormCut::kOutput ? out.y : x;
      return WithVectors({&x, &y, &dy}, [&]<typename T, int kLanes>() {
        using W = Wide<T>;
        return runner_.ReduceChannels(
            "normalisation gradients", layout.extents(),
            NormGradientsBody<T, kLanes, kCut>{
                kCut != NormCut::kNone || cuts_by_input(), layout.planes(),
                CoefficientsAt<W>(coefficients), layout.ViewOf<const T, kLanes>(x),
                layout.ViewOf<const T, kLanes>(dy), CutterOf<T, kLanes, kCut>(y, out.signs),
                layout.ViewOf<T, kLanes>(dy)},
            sums, arrived_,
            NormGradientsFinish<W>{
                spec_.epsilon, statistics.mean.data<double>(), statistics.variance.data<double>(),
                gradients.gamma.data<W>(), gradients.beta.data<W>(),
                parameters == nullptr ? NormLineMaker<W>()
                                      : LineMaker<W>(spec_.epsilon, *parameters,
                                                     batch_line_.raw_data(), layout.positions())});
      });
    });
  }

  absl::Status RenewLine(const BatchNormParameters& parameters, const RunningStatistics& running) {
    return line_versions_.Renew(parameters, running, [&] {
      return DispatchFloating(WideOf(spec_.dtype), [&]<typename W>(W) {
        return SetLine<W, W>(running.mean.tensor, running.variance.tensor, parameters,
                             line_.raw_data(), BatchNormGradients(), 1);
      });
    });
  }
  absl::Status SetLine(const BatchStatistics& statistics, const BatchNormParameters& parameters,
                       std::byte* to, const BatchNormGradients& gradients = {}, int64_t count = 1) {
    return DispatchFloating(WideOf(spec_.dtype), [&]<typename W>(W) {
      return SetLine<W, double>(statistics.mean, statistics.variance, parameters, to, gradients,
                                count);
    });
  }
  template <typename W, typename S>
  absl::Status SetLine(const Tensor& mean, const Tensor& variance,
                       const BatchNormParameters& parameters, std::byte* to,
                       const BatchNormGradients& gradients, int64_t count) {
    const bool slopes = !gradients.gamma.empty();
    return runner_.ForEach("normalisation line", spec_.channels,
                           NormLineBody<W, S>{mean.data<S>(), variance.data<S>(),
                                              slopes ? gradients.gamma.data<W>() : nullptr,
                                              slopes ? gradients.beta.data<W>() : nullptr,
                                              LineMaker<W>(spec_.epsilon, parameters, to, count)});
  }

  // Whether the relu's mask is found from x again.
  bool cuts_by_input() const { return spec_.relu && !spec_.add; }

  absl::Status Cut(const BatchNormOutput& out, const Tensor& dy) {
    const ChannelLayout layout = LayoutOf(dy);
    return WithCut(out, [&]<NormCut kCut>() -> absl::Status {
      if constexpr (kCut == NormCut::kNone) {
        return absl::OkStatus();
      } else {
        const Tensor& y = kCut == NormCut::kOutput ? out.y : dy;
        return WithVectors({&dy, &y}, [&]<typename T, int kLanes>() {
          return runner_.ForEachVector(
              "relu gradient", layout.extents(),
              NormCutBody<T, kLanes, kCut>{CutterOf<T, kLanes, kCut>(y, out.signs),
                                           layout.ViewOf<const T, kLanes>(dy),
                                           layout.ViewOf<T, kLanes>(dy)});
        });
      }
    });
  }
  absl::Status Write(const Tensor& x, const std::byte* coefficients, const Tensor& addend,
                     const BatchNormOutput& out) {
    if (!spec_.add) return Write<NormAddend::kNone>(x, coefficients, x, out);
    if (out.signs.empty()) return Write<NormAddend::kAdd>(x, coefficients, addend, out);
    return Write<NormAddend::kAddSigns>(x, coefficients, addend, out);
  }
  template <NormAddend kAddend>
  absl::Status Write(const Tensor& x, const std::byte* coefficients, const Tensor& addend,
                     const BatchNormOutput& out) {
    const ChannelLayout layout = LayoutOf(x);
    return WithSigns<kAddend>(
        {&x, &addend, &out.y}, out, [&]<typename T, int kLanes, NormAddend kHow>() {
          return runner_.ForEachVector(
              "normalisation", layout.extents(),
              NormApplyBody<T, kLanes, kHow>{
                  spec_.relu, layout.planes(), CoefficientsAt<Wide<T>>(coefficients),
                  layout.ViewOf<const T, kLanes>(x), layout.ViewOf<const T, kLanes>(addend),
                  layout.ViewOf<T, kLanes>(out.y),
                  SignsAt<T, uint8_t>(kHow == NormAddend::kAddSigns ? out.signs : Tensor())});
        });
  }
  absl::Status WriteGradient(const Tensor& x, const Tensor& dy, const std::byte* coefficients,
                             const Tensor& dx, bool accumulate) {
    const ChannelLayout layout = LayoutOf(x);
    return WithVectors({&x, &dy, &dx}, [&]<typename T, int kLanes>() {
      return runner_.ForEachVector(
          "normalisation gradient", layout.extents(),
          NormDataBody<T, kLanes>{
              cuts_by_input(), accumulate, layout.planes(), CoefficientsAt<Wide<T>>(coefficients),
              layout.ViewOf<const T, kLanes>(x), layout.ViewOf<const T, kLanes>(dy),
              layout.ViewOf<T, kLanes>(dx)});
    });
  }

  absl::Status CheckForward(const Tensor& x, const Tensor& addend, const BatchNormOutput& out,
                            Workspace workspace) const {
    DTNN_RETURN_IF_ERROR(Check({&x, spec_.add ? &addend : &x, &out.y}, workspace));
    return CheckSigns(x, out);
  }
  absl::Status CheckBackward(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                             const Tensor& dx, Workspace workspace) const {
    const bool reads_y = spec_.cuts_by_output() && out.signs.empty();
    DTNN_RETURN_IF_ERROR(Check({&x, reads_y ? &out.y : &x, &dy, &dx}, workspace));
    return CheckSigns(x, out);
  }
  absl::Status Check(std::initializer_list<const Tensor*> tensors, Workspace workspace) const {
    return NormGpu::Check(tensors, workspace, workspace_bytes());
  }

  Tensor line_;  // coefficients of the parameters and running statistics of `line_versions_`
  LineVersions line_versions_;
  Tensor batch_line_;  // those of the last Normalize, and of the Backward after it
};

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNormGpu(DeviceContext& context,
                                                              const BatchNormSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(Tensor line, MakeNormCoefficients(context, spec));
  DTNN_ASSIGN_OR_RETURN(Tensor batch_line, MakeNormCoefficients(context, spec));
  const GpuRunner runner(context);
  DTNN_ASSIGN_OR_RETURN(Tensor arrived, runner.MakeArrived());
  return std::make_unique<BatchNormGpu>(runner, spec, std::move(line), std::move(batch_line),
                                        std::move(arrived));
}

}  // namespace dtnn
