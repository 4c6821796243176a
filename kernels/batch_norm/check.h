// What every implementation of BatchNorm checks before a call, and how it finds that what it keeps
// for inference is out of date.

#ifndef DTNN_KERNELS_BATCH_NORM_CHECK_H_
#define DTNN_KERNELS_BATCH_NORM_CHECK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/elementwise/operands.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

// Checks a spec, apart from its type.
inline absl::Status ValidateBatchNorm(const BatchNormSpec& spec) {
  if (spec.batch < 0 || spec.positions < 1 || spec.channels < 1) {
    return InvalidArgument("batch normalisation: ", spec.batch, " samples of ", spec.positions,
                           " positions and ", spec.channels,
                           " channels, expected at least one of each");
  }
  if (!(spec.epsilon > 0) || !(spec.momentum >= 0 && spec.momentum <= 1)) {
    return InvalidArgument("batch normalisation: epsilon ", spec.epsilon, " and momentum ",
                           spec.momentum, ", expected a positive epsilon and a momentum in [0, 1]");
  }
  return absl::OkStatus();
}

// Activations of one shape that fits the spec, and a workspace of `needed` bytes.
inline absl::Status CheckBatchNorm(const BatchNormSpec& spec, Device device,
                                   std::initializer_list<const Tensor*> tensors,
                                   Workspace workspace, size_t needed) {
  DTNN_RETURN_IF_ERROR(CheckOperands("batch normalisation", device, spec.dtype, tensors));
  const Shape& shape = (*tensors.begin())->shape();
  const int rank = shape.rank();
  const bool channels_first = rank == 4 && spec.format == TensorFormat::kNCHW;
  const bool fits = (rank == 2 || rank == 4) && shape[0] <= spec.batch &&
                    shape[channels_first ? 1 : rank - 1] == spec.channels &&
                    shape.NumElements() == shape[0] * spec.positions * spec.channels;
  if (!fits) {
    return InvalidArgument("batch normalisation: shape ", shape.ToString(), ", expected up to ",
                           spec.batch, " samples of ", spec.positions, " positions and ",
                           spec.channels, " channels");
  }
  if (workspace.size() >= needed) return absl::OkStatus();
  return InvalidArgument("batch normalisation: a workspace of ", workspace.size(),
                         " bytes, expected ", needed);
}

// Vectors of the channels.
inline absl::Status CheckBatchNormChannels(const BatchNormSpec& spec, Device device, DType dtype,
                                           std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    DTNN_RETURN_IF_ERROR(CheckOperand("batch normalisation", "a parameter or statistic", *tensor,
                                      device, dtype, Shape{spec.channels}, Pitch::kNone));
  }
  return absl::OkStatus();
}

inline absl::Status CheckBatchNormInputs(const BatchNormSpec& spec, Device device,
                                         const BatchStatistics& statistics,
                                         const BatchNormParameters& parameters) {
  DTNN_RETURN_IF_ERROR(CheckBatchNormChannels(spec, device, DType::kFloat64,
                                              {&statistics.mean, &statistics.variance}));
  return CheckBatchNormChannels(spec, device, WideOf(spec.dtype),
                                {&parameters.gamma.tensor, &parameters.beta.tensor});
}

inline absl::Status CheckBatchNormInputs(const BatchNormSpec& spec, Device device,
                                         const RunningStatistics& running,
                                         const BatchNormParameters& parameters) {
  return CheckBatchNormChannels(spec, device, WideOf(spec.dtype),
                                {&parameters.gamma.tensor, &parameters.beta.tensor,
                                 &running.mean.tensor, &running.variance.tensor});
}

inline absl::Status NothingToMeasure() {
  return absl::InvalidArgumentError("batch normalisation: no elements to take the mean of");
}

// The versions that a line of inference was computed from.
class LineVersions {
 public:
  // Calls `compute`, which returns a status, unless the line is of these versions; of which it is
  // from then on, where that succeeds.
  template <class Compute>
  absl::Status Renew(const BatchNormParameters& parameters, const RunningStatistics& running,
                     const Compute& compute) {
    const std::array<uint64_t, 4> versions = {parameters.gamma.version, parameters.beta.version,
                                              running.mean.version, running.variance.version};
    const bool known = std::ranges::find(versions, uint64_t{0}) == versions.end();
    if (known && versions == versions_) return absl::OkStatus();
    versions_ = {};
    DTNN_RETURN_IF_ERROR(compute());
    versions_ = versions;
    return absl::OkStatus();
  }

 private:
  std::array<uint64_t, 4> versions_ = {};  // 0 is the version of nothing
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_CHECK_H_
