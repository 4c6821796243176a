// The primitive: coefficients per channel between the passes.

#include "kernels/batch_norm/batch_norm_cpu.h"

#include <utility>

#include "kernels/batch_norm/batch_norm_gpu.h"
#include "kernels/batch_norm/check.h"
#include "kernels/workspace/scratch.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using Pass = BatchNormPass;

class BatchNormCpu : public BatchNorm {
 public:
  BatchNormCpu(const BatchNormSpec& spec, Tensor line)
      : spec_(spec), pitch_(RoundUp(spec.channels, 16)), line_(std::move(line)) {}

  absl::Status Statistics(const Tensor& x, const BatchStatistics& statistics,
                          Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x}, workspace));
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    if (x.num_elements() == 0) return NothingToMeasure();
    Pass pass = MakePass(BatchNormStep::kMoments, x, Tensor(), Tensor());
    const BatchNormChannels channels = ChannelsIn(workspace, pass);
    BatchNormSetPivot(pass, channels, statistics.mean.data<double>());
    BatchNormSum(pass, ScratchIn(workspace), statistics.mean.data<double>(),
                 statistics.variance.data<double>());
    BatchNormFinishMoments(channels, double(x.num_elements() / spec_.channels), statistics);
    return absl::OkStatus();
  }

  absl::Status Apply(const Tensor& x, const BatchStatistics& statistics,
                     const BatchNormParameters& parameters, const Tensor& addend,
                     const BatchNormOutput& out, Workspace workspace) override {
    const Tensor& y = out.y;
    DTNN_RETURN_IF_ERROR(Check({&x, spec_.add ? &addend : &x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    Pass pass = MakePass(BatchNormStep::kApply, x, Tensor(), y, addend);
    BatchNormSetLines(ChannelsIn(workspace, pass), statistics.mean, statistics.variance,
                      parameters);
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  absl::Status Track(const BatchStatistics& statistics, const RunningStatistics& running) override {
    const Tensor &mean = running.mean.tensor, &variance = running.variance.tensor;
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&mean, &variance}));
    DispatchFloating(WideOf(spec_.dtype), [&](auto zero) {
      using T = decltype(zero);
      const auto track = [&](T& value, double batch) {
        value = T(spec_.momentum * double(value) + (1 - spec_.momentum) * batch);
      };
      for (int64_t c = 0; c < spec_.channels; ++c) {
        track(mean.data<T>()[c], statistics.mean.data<double>()[c]);
        track(variance.data<T>()[c], statistics.variance.data<double>()[c]);
      }
    });
    return absl::OkStatus();
  }

  absl::Status Infer(const Tensor& x, const BatchNormParameters& parameters,
                     const RunningStatistics& running, const Tensor& addend,
                     const BatchNormOutput& out, Workspace workspace) override {
    const Tensor& y = out.y;
    DTNN_RETURN_IF_ERROR(Check({&x, spec_.add ? &addend : &x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    DTNN_RETURN_IF_ERROR(RenewLine(parameters, running));
    Pass pass = MakePass(BatchNormStep::kApply, x, Tensor(), y, addend);
    pass.coefficients = line_.raw_data();
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  absl::Status Gradients(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                         const BatchStatistics& statistics, const BatchNormParameters& parameters,
                         const BatchNormGradients& gradients, Workspace workspace) override {
    const Tensor& y = out.y;
    const bool cuts = spec_.cuts_by_output();
    DTNN_RETURN_IF_ERROR(Check({&x, cuts ? &y : &x, &dy}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&gradients.gamma, &gradients.beta}));
    Pass pass = MakePass(BatchNormStep::kGradients, x, dy, cuts ? dy : Tensor(), y);
    const BatchNormChannels channels = ChannelsIn(workspace, pass);
    BatchNormSetLines(channels, statistics.mean, statistics.variance, parameters);
    double* betas = Divide(workspace.data()).sums;
    double* gammas = betas + pitch_;
    BatchNormSum(pass, ScratchIn(workspace), betas, gammas);
    BatchNormFinishGradients(channels, statistics, betas, gammas, gradients);
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& x, const Tensor& dy, const BatchStatistics& statistics,
                            const BatchNormParameters& parameters,
                            const BatchNormGradients& gradients, int64_t count, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy, &dx}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(WideOf(spec_.dtype), {&gradients.gamma, &gradients.beta}));
    Pass pass = MakePass(BatchNormStep::kData, x, dy, dx);
    pass.accumulate = accumulate;
    const BatchNormChannels channels = ChannelsIn(workspace, pass);
    BatchNormSetLines(channels, statistics.mean, statistics.variance, parameters);
    BatchNormSetSlopes(channels, double(count), statistics, parameters, gradients);
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  absl::Status BackwardInfer(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                             const BatchNormParameters& parameters,
                             const RunningStatistics& running, const Tensor& dx, bool accumulate,
                             Workspace workspace) override {
    const Tensor& y = out.y;
    const bool cuts = spec_.cuts_by_output(), cuts_only = cuts && dx.empty();
    DTNN_RETURN_IF_ERROR(Check({&x, cuts ? &y : &x, &dy, cuts_only ? &x : &dx}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(running, parameters));
    if (cuts) {
      Pass cut = MakePass(BatchNormStep::kCut, x, dy, dy, y);
      cut.coefficients = line_.raw_data();
      BatchNormMap(cut, ScratchIn(workspace));
    }
    if (cuts_only) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(RenewLine(parameters, running));
    // Nobody writes the slopes and offsets there: they are 0.
    Pass pass = MakePass(BatchNormStep::kData, x, dy, dx);
    pass.accumulate = accumulate;
    pass.coefficients = line_.raw_data();
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  // Two sums per channel, the coefficients, and what the passes need.
  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }

 private:
  struct Division {
    double* sums;
    std::byte *coefficients, *scratch;
    size_t bytes;
  };
  Division Divide(std::byte* memory) const {
    ScratchDivider divider(memory);
    Division division;
    division.sums = divider.Take<double>(2 * pitch_);
    division.coefficients = divider.Take<std::byte>(Pass::kCoefficients * pitch_ *
                                                    int64_t(SizeOf(WideOf(spec_.dtype))));
    division.scratch = divider.Take<std::byte>(int64_t(BatchNormScratchBytes(spec_)));
    division.bytes = divider.bytes();
    return division;
  }
  std::byte* ScratchIn(Workspace workspace) const { return Divide(workspace.data()).scratch; }

  BatchNormChannels ChannelsAt(std::byte* coefficients) const {
    return {WideOf(spec_.dtype), spec_.channels, spec_.epsilon, coefficients, pitch_};
  }
  // Where the pass will find them.
  BatchNormChannels ChannelsIn(Workspace workspace, Pass& pass) const {
    std::byte* coefficients = Divide(workspace.data()).coefficients;
    pass.coefficients = coefficients;
    return ChannelsAt(coefficients);
  }

  absl::Status RenewLine(const BatchNormParameters& parameters, const RunningStatistics& running) {
    return line_versions_.Renew(parameters, running, [&] {
      BatchNormSetLines(ChannelsAt(line_.raw_data()), running.mean.tensor, running.variance.tensor,
                        parameters);
      return absl::OkStatus();
    });
  }

  bool ChannelsFirst(const Tensor& x) const {
    return x.shape().rank() == 4 && spec_.format == TensorFormat::kNCHW;
  }

  Pass MakePass(BatchNormStep step, const Tensor& x, const Tensor& dy, const Tensor& out,
                const Tensor& other = Tensor()) const {
    Pass pass;
    pass.step = step;
    pass.dtype = spec_.dtype;
    pass.add = spec_.add;
    pass.relu = spec_.relu;
    pass.channels = spec_.channels;
    pass.coefficient_pitch = pitch_;
    // Planes of one element are rows of channels.
    pass.planes = ChannelsFirst(x) && spec_.positions > 1;
    const int64_t samples = x.shape()[0];
    pass.rows = pass.planes ? samples : samples * spec_.positions;
    pass.columns = pass.planes ? spec_.positions : spec_.channels;
    const RowGrid grid = {pass.rows,
                          pass.planes ? spec_.channels * spec_.positions : spec_.channels};
    pass.x = OperandIn(grid, x, spec_.format);
    // Steps that have no dy or other operand, or write nothing, do not look there.
    pass.dy = dy.empty() ? pass.x : OperandIn(grid, dy, spec_.format);
    pass.other = other.empty() ? pass.x : OperandIn(grid, other, spec_.format);
    pass.out = out.empty() ? pass.x : OperandIn(grid, out, spec_.format);
    return pass;
  }

  absl::Status Check(std::initializer_list<const Tensor*> tensors, Workspace workspace) const {
    return CheckBatchNorm(spec_, Device::Cpu(), tensors, workspace, workspace_bytes());
  }
  template <class Statistics>
  absl::Status CheckInputs(const Statistics& statistics,
                           const BatchNormParameters& parameters) const {
    return CheckBatchNormInputs(spec_, Device::Cpu(), statistics, parameters);
  }
  absl::Status CheckChannels(DType dtype, std::initializer_list<const Tensor*> tensors) const {
    return CheckBatchNormChannels(spec_, Device::Cpu(), dtype, tensors);
  }

  BatchNormSpec spec_;
  int64_t pitch_;  // of the coefficients: whole vectors
  Tensor line_;    // of the parameters and running statistics of `line_versions_`
  LineVersions line_versions_;
};

}  // namespace

absl::Status BatchNorm::Normalize(const Tensor& x, const BatchStatistics& statistics,
                                  const BatchNormParameters& parameters,
                                  const RunningStatistics& running, const Tensor& addend,
                                  const BatchNormOutput& out, Workspace workspace) {
  DTNN_RETURN_IF_ERROR(Statistics(x, statistics, workspace));
  DTNN_RETURN_IF_ERROR(Track(statistics, running));
  return Apply(x, statistics, parameters, addend, out, workspace);
}

absl::Status BatchNorm::Backward(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                                 const BatchStatistics& statistics,
                                 const BatchNormParameters& parameters,
                                 const BatchNormGradients& gradients, const Tensor& dx,
                                 bool accumulate, Workspace workspace) {
  DTNN_RETURN_IF_ERROR(Gradients(x, out, dy, statistics, parameters, gradients, workspace));
  const int64_t channels = gradients.gamma.num_elements();
  return BackwardData(x, dy, statistics, parameters, gradients, x.num_elements() / channels, dx,
                      accumulate, workspace);
}

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNorm(DeviceContext& context,
                                                           const BatchNormSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("batch normalisation", context.device(), spec.dtype));
  DTNN_RETURN_IF_ERROR(ValidateBatchNorm(spec));
  if (!context.device().is_cpu()) return CreateBatchNormGpu(context, spec);
  // All coefficients have a place; inference sets three, and slopes and offsets stay 0.
  DTNN_ASSIGN_OR_RETURN(
      Tensor line,
      Tensor::Zeros(WideOf(spec.dtype), Shape{Pass::kCoefficients, RoundUp(spec.channels, 16)}));
  return std::make_unique<BatchNormCpu>(spec, std::move(line));
}

}  // namespace dtnn
