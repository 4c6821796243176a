// The primitive: coefficients per channel between the passes.

#include "kernels/batch_norm/batch_norm_cpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using Pass = BatchNormPass;

// Coefficients of all channels, in the dtype.
template <typename T>
struct Coefficients {
  T* base;
  int64_t pitch;
  T* operator[](Pass::Coefficient which) const { return base + which * pitch; }
};

template <typename T>
void SetLine(const Coefficients<T>& to, int64_t c, double mean, double scale, double beta) {
  to[Pass::kMean][c] = T(mean);
  to[Pass::kScale][c] = T(scale);
  // What rounding took from the mean goes into the shift.
  to[Pass::kShift][c] = T(beta - (mean - double(T(mean))) * scale);
}

class BatchNormCpu : public BatchNorm {
 public:
  BatchNormCpu(const BatchNormSpec& spec, Tensor line)
      : spec_(spec), pitch_((spec.channels + 15) / 16 * 16), line_(std::move(line)) {}

  absl::Status Statistics(const Tensor& x, const BatchStatistics& statistics,
                          Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x}, workspace));
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    if (x.num_elements() == 0) return NothingToMeasure();
    Pass pass = MakePass(BatchNormStep::kMoments, x, Tensor(), Tensor());
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Coefficients<T> coefficients = CoefficientsIn<T>(pass, workspace);
      T* pivot = coefficients[Pass::kMean];
      double* means = statistics.mean.data<double>();
      double* variances = statistics.variance.data<double>();
      SetPivot(pass, means, pivot);
      BatchNormSum(pass, ScratchIn(workspace), means, variances);
      const double count = double(x.num_elements() / spec_.channels);
      for (int64_t c = 0; c < spec_.channels; ++c) {
        const double offset = means[c] / count;
        const double variance = variances[c] / count - offset * offset;
        means[c] = double(pivot[c]) + offset;
        variances[c] = variance < 0 ? 0 : variance;
      }
    });
    return absl::OkStatus();
  }

  absl::Status Apply(const Tensor& x, const BatchStatistics& statistics,
                     const BatchNormParameters& parameters, const Tensor& y,
                     Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    Pass pass = MakePass(BatchNormStep::kApply, x, Tensor(), y);
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      SetLines(CoefficientsIn<T>(pass, workspace), statistics, parameters);
    });
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  absl::Status Track(const BatchStatistics& statistics, const RunningStatistics& running) override {
    const Tensor &mean = running.mean.tensor, &variance = running.variance.tensor;
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    DTNN_RETURN_IF_ERROR(CheckChannels(spec_.dtype, {&mean, &variance}));
    DispatchFloating(spec_.dtype, [&](auto zero) {
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
                     const RunningStatistics& running, const Tensor& y,
                     Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &y}, workspace));
    DTNN_RETURN_IF_ERROR(
        CheckChannels(spec_.dtype, {&parameters.gamma.tensor, &parameters.beta.tensor,
                                    &running.mean.tensor, &running.variance.tensor}));
    RenewLine(parameters, running);
    Pass pass = MakePass(BatchNormStep::kApply, x, Tensor(), y);
    pass.coefficients = line_.raw_data();
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  absl::Status Gradients(const Tensor& x, const Tensor& dy, const BatchStatistics& statistics,
                         const BatchNormParameters& parameters, const BatchNormGradients& gradients,
                         Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(spec_.dtype, {&gradients.gamma, &gradients.beta}));
    Pass pass = MakePass(BatchNormStep::kGradients, x, dy, Tensor());
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      SetLines(CoefficientsIn<T>(pass, workspace), statistics, parameters);
      double* betas = reinterpret_cast<double*>(workspace.data());
      double* gammas = betas + pitch_;
      BatchNormSum(pass, ScratchIn(workspace), betas, gammas);
      for (int64_t c = 0; c < spec_.channels; ++c) {
        const double mean = statistics.mean.data<double>()[c];
        const double rounded_off = mean - double(T(mean));
        gradients.beta.data<T>()[c] = T(betas[c]);
        gradients.gamma.data<T>()[c] =
            T((gammas[c] - rounded_off * betas[c]) * InverseDeviation(statistics, c));
      }
    });
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& x, const Tensor& dy, const BatchStatistics& statistics,
                            const BatchNormParameters& parameters,
                            const BatchNormGradients& gradients, int64_t count, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&x, &dy, &dx}, workspace));
    DTNN_RETURN_IF_ERROR(CheckInputs(statistics, parameters));
    DTNN_RETURN_IF_ERROR(CheckChannels(spec_.dtype, {&gradients.gamma, &gradients.beta}));
    Pass pass = MakePass(BatchNormStep::kData, x, dy, dx);
    pass.accumulate = accumulate;
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Coefficients<T> to = CoefficientsIn<T>(pass, workspace);
      SetLines(to, statistics, parameters);
      for (int64_t c = 0; c < spec_.channels; ++c) {
        const double mean = statistics.mean.data<double>()[c];
        const double inverse = InverseDeviation(statistics, c);
        const double scale = double(parameters.gamma.tensor.data<T>()[c]) * inverse;
        const double slope =
            -scale * inverse * double(gradients.gamma.data<T>()[c]) / double(count);
        to[Pass::kSlope][c] = T(slope);
        to[Pass::kOffset][c] = T(-scale * double(gradients.beta.data<T>()[c]) / double(count) -
                                 slope * (mean - double(T(mean))));
      }
    });
    BatchNormMap(pass, ScratchIn(workspace));
    return absl::OkStatus();
  }

  // Two sums per channel, the coefficients, and what the passes need.
  size_t workspace_bytes() const override {
    return OffsetOfScratch() + BatchNormScratchBytes(spec_);
  }

 private:
  size_t OffsetOfCoefficients() const { return size_t(2 * pitch_) * sizeof(double); }
  size_t OffsetOfScratch() const {
    return OffsetOfCoefficients() + size_t(Pass::kCoefficients * pitch_) * SizeOf(spec_.dtype);
  }
  std::byte* ScratchIn(Workspace workspace) const { return workspace.data() + OffsetOfScratch(); }

  template <typename T>
  Coefficients<T> CoefficientsIn(Pass& pass, Workspace workspace) const {
    std::byte* base = workspace.data() + OffsetOfCoefficients();
    pass.coefficients = base;
    return {reinterpret_cast<T*>(base), pitch_};
  }

  double InverseDeviation(const BatchStatistics& statistics, int64_t c) const {
    return 1 / std::sqrt(statistics.variance.data<double>()[c] + spec_.epsilon);
  }

  template <typename T>
  void SetLines(const Coefficients<T>& to, const BatchStatistics& statistics,
                const BatchNormParameters& parameters) const {
    for (int64_t c = 0; c < spec_.channels; ++c) {
      SetLine(to, c, statistics.mean.data<double>()[c],
              double(parameters.gamma.tensor.data<T>()[c]) * InverseDeviation(statistics, c),
              double(parameters.beta.tensor.data<T>()[c]));
    }
  }

  void RenewLine(const BatchNormParameters& parameters, const RunningStatistics& running) {
    const std::array<uint64_t, 4> versions = {parameters.gamma.version, parameters.beta.version,
                                              running.mean.version, running.variance.version};
    const bool known = std::ranges::find(versions, 0u) == versions.end();
    if (known && versions == versions_) return;
    versions_ = versions;
    DispatchFloating(spec_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Coefficients<T> to = {line_.data<T>(), pitch_};
      for (int64_t c = 0; c < spec_.channels; ++c) {
        const T variance = running.variance.tensor.data<T>()[c];
        const double deviation = std::sqrt((variance < 0 ? 0 : double(variance)) + spec_.epsilon);
        SetLine(to, c, double(running.mean.tensor.data<T>()[c]),
                double(parameters.gamma.tensor.data<T>()[c]) / deviation,
                double(parameters.beta.tensor.data<T>()[c]));
      }
    });
  }

  bool ChannelsFirst(const Tensor& x) const {
    return x.shape().rank() == 4 && spec_.format == TensorFormat::kNCHW;
  }

  Pass MakePass(BatchNormStep step, const Tensor& x, const Tensor& dy, const Tensor& out) const {
    Pass pass;
    pass.step = step;
    pass.dtype = spec_.dtype;
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
    // Steps that have no dy, or write nothing, do not look there.
    pass.dy = dy.empty() ? pass.x : OperandIn(grid, dy, spec_.format);
    pass.out = out.empty() ? pass.x : OperandIn(grid, out, spec_.format);
    return pass;
  }

  // The mean of some elements of each channel that lie far apart (none in the corner of an image):
  // a value not far from the others, from which their differences are small.
  template <typename T>
  static void SetPivot(const Pass& pass, double* sums, T* pivot) {
    constexpr int64_t kSamples = 16;
    const int64_t positions = pass.planes ? pass.columns : 1, count = pass.rows * positions;
    const int64_t samples = count < kSamples ? 1 : kSamples;
    std::fill_n(sums, pass.channels, 0.0);
    for (int64_t i = 0; i < samples; ++i) {
      const int64_t at = count * (2 * i + 1) / (2 * samples);
      const T* x = pass.x.At<const T>(at / positions, at % positions);
      for (int64_t c = 0; c < pass.channels; ++c) sums[c] += double(x[c * positions]);
    }
    for (int64_t c = 0; c < pass.channels; ++c) pivot[c] = T(sums[c] / double(samples));
  }

  absl::Status NothingToMeasure() const {
    return absl::InvalidArgumentError("batch normalisation: no elements to take the mean of");
  }

  absl::Status Check(std::initializer_list<const Tensor*> tensors, Workspace workspace) const {
    DTNN_RETURN_IF_ERROR(CheckOperands("batch normalisation", spec_.dtype, tensors));
    const Shape& shape = (*tensors.begin())->shape();
    const int rank = shape.rank();
    const bool first = ChannelsFirst(**tensors.begin());
    const bool fits = (rank == 2 || rank == 4) && shape[0] <= spec_.batch &&
                      shape[first ? 1 : rank - 1] == spec_.channels &&
                      shape.NumElements() == shape[0] * spec_.positions * spec_.channels;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "batch normalisation: shape ", shape.ToString(), ", expected up to ", spec_.batch,
          " samples of ", spec_.positions, " positions and ", spec_.channels, " channels"));
    }
    if (workspace.size() >= workspace_bytes()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("batch normalisation: a workspace of ",
                                                   workspace.size(), " bytes, expected ",
                                                   workspace_bytes()));
  }

  absl::Status CheckInputs(const BatchStatistics& statistics,
                           const BatchNormParameters& parameters) const {
    DTNN_RETURN_IF_ERROR(CheckChannels(DType::kFloat64, {&statistics.mean, &statistics.variance}));
    return CheckChannels(spec_.dtype, {&parameters.gamma.tensor, &parameters.beta.tensor});
  }

  absl::Status CheckChannels(DType dtype, std::initializer_list<const Tensor*> tensors) const {
    for (const Tensor* tensor : tensors) {
      if (!tensor->empty() && tensor->dtype() == dtype &&
          tensor->shape() == Shape{spec_.channels}) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "batch normalisation: parameters or statistics of shape ", tensor->shape().ToString(),
          ", expected (", spec_.channels, ",) of type ", std::string(Name(dtype))));
    }
    return absl::OkStatus();
  }

  BatchNormSpec spec_;
  int64_t pitch_;  // of the coefficients: whole vectors
  Tensor line_;    // of the parameters and running statistics of `versions_`
  std::array<uint64_t, 4> versions_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNormCpu(const BatchNormSpec& spec) {
  // All coefficients have a place, although inference sets and reads three only.
  DTNN_ASSIGN_OR_RETURN(
      Tensor line,
      Tensor::Zeros(spec.dtype, Shape{Pass::kCoefficients, (spec.channels + 15) / 16 * 16}));
  return std::make_unique<BatchNormCpu>(spec, std::move(line));
}

}  // namespace dtnn
