// Batch normalisation (Ioffe & Szegedy, ICML 2015) of images per channel, of vectors per feature,
// optionally followed by the sum with an addend and by a relu. With sums over the m elements of a
// channel and s^2 = variance + epsilon:
//
//   Statistics    mean = sum(x) / m;  variance = sum((x - mean)^2) / m
//   Apply         y = gamma * (x - mean) / s + beta (+ addend)              relu: y = max(0, that)
//   Track         running = momentum * running + (1 - momentum) * (mean or variance)
//   Infer         Apply with the running statistics
//   Gradients     dbeta = sum(dy);  dgamma = sum(dy * (x - mean)) / s
//   BackwardData  dx = gamma / s * (dy - dbeta / count - (x - mean) / s * dgamma / count)
//   BackwardInfer dx = gamma / s * dy, of Infer
//
// Training is split where ranks would exchange what they found: statistics, or dgamma and dbeta
// with the count of all ranks. With relu, dy counts only where the y of Apply is positive, which is
// found from x again, to the bit: y itself need not be kept. With an addend too, which need not be
// kept either, y says it, or the signs that a GPU writes with y: the first step of the backward
// pass, Gradients or BackwardInfer, cuts dy where it stands. So dy is the addend's gradient then,
// and what the steps after that take as it is. Statistics are float64 and differences
// are summed from a sample of the channel on, so a mean far larger than the deviation costs no
// digits. One element gives variance 0 and y = beta. A running variance below 0 counts as 0.
//
// x, addend, y, dy, dx: (n, ...) of one shape, n <= batch, a pitch allowed. y may be x or the
// addend; dx may be dy or y unless accumulating. Results do not depend on the number of threads.
// Bytes moved: Statistics and Apply read x twice and write y; Gradients and BackwardData read x and
// dy twice and write dx. An addend costs one read of it; with a relu, one of y, or of a sixteenth
// of it in signs, and a write of dy more.

#ifndef DTNN_KERNELS_BATCH_NORM_BATCH_NORM_H_
#define DTNN_KERNELS_BATCH_NORM_BATCH_NORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/parameter_view.h"
#include "kernels/workspace/workspace.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct BatchNormSpec {
  int64_t batch = 0;      // the most a call will bring
  int64_t positions = 1;  // height * width of an image; 1 for vectors
  int64_t channels = 0;
  TensorFormat format = TensorFormat::kNHWC;  // of images
  DType dtype = DType::kFloat32;
  double epsilon = 1e-5;
  double momentum = 0.9;
  bool add = false;  // of an addend, before the relu
  bool relu = false;

  // Whether the backward pass cuts dy by y.
  bool cuts_by_output() const { return add && relu; }
  friend bool operator==(const BatchNormSpec&, const BatchNormSpec&) = default;
};

// The statistics of one batch: (channels,) each, float64.
struct BatchStatistics {
  Tensor mean, variance;
};

// (channels,) each, WideOf the spec's dtype.
struct BatchNormParameters {
  ParameterView gamma, beta;
};
struct RunningStatistics {
  ParameterView mean, variance;
};
struct BatchNormGradients {
  Tensor gamma, beta;
};

// What Apply and its like write, and what the backward pass cuts dy by: y; or the signs of it,
// where there are any.
struct BatchNormOutput {
  BatchNormOutput(Tensor y, Tensor signs = {})  // NOLINT: y alone is an output
      : y(std::move(y)), signs(std::move(signs)) {}

  Tensor y;
  // (n, BatchNorm::signs_bytes()) uint8: whether y is above 0, or NaN. Empty: y is read instead.
  Tensor signs;
};

class BatchNorm {
 public:
  virtual ~BatchNorm() = default;

  // The bytes of a sample's signs, which may be kept instead of y where the backward pass cuts dy
  // by it; 0: there are none, y is read.
  virtual int64_t signs_bytes() const { return 0; }

  virtual absl::Status Statistics(const Tensor& x, const BatchStatistics& statistics,
                                  Workspace workspace) = 0;
  // `addend`: empty unless the spec adds.
  virtual absl::Status Apply(const Tensor& x, const BatchStatistics& statistics,
                             const BatchNormParameters& parameters, const Tensor& addend,
                             const BatchNormOutput& out, Workspace workspace) = 0;
  virtual absl::Status Track(const BatchStatistics& statistics,
                             const RunningStatistics& running) = 0;

  // Statistics, Track and Apply of a batch that no other rank has a part of. On a GPU in fewer
  // launches.
  virtual absl::Status Normalize(const Tensor& x, const BatchStatistics& statistics,
                                 const BatchNormParameters& parameters,
                                 const RunningStatistics& running, const Tensor& addend,
                                 const BatchNormOutput& out, Workspace workspace);

  // What follows from the parameters is kept until the version of one of them changes.
  virtual absl::Status Infer(const Tensor& x, const BatchNormParameters& parameters,
                             const RunningStatistics& running, const Tensor& addend,
                             const BatchNormOutput& out, Workspace workspace) = 0;

  // Overwrites the gradients; and dy, where `out` is read: it is empty unless the spec adds and has
  // a relu.
  virtual absl::Status Gradients(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                                 const BatchStatistics& statistics,
                                 const BatchNormParameters& parameters,
                                 const BatchNormGradients& gradients, Workspace workspace) = 0;
  // dx = (accumulate ? dx : 0) + gradient. `count`: the elements per channel that the statistics
  // and gradients come from, n * positions where nobody exchanged any.
  virtual absl::Status BackwardData(const Tensor& x, const Tensor& dy,
                                    const BatchStatistics& statistics,
                                    const BatchNormParameters& parameters,
                                    const BatchNormGradients& gradients, int64_t count,
                                    const Tensor& dx, bool accumulate, Workspace workspace) = 0;

  // Gradients and BackwardData of the batch that the last call of Normalize brought.
  virtual absl::Status Backward(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                                const BatchStatistics& statistics,
                                const BatchNormParameters& parameters,
                                const BatchNormGradients& gradients, const Tensor& dx,
                                bool accumulate, Workspace workspace);

  // dx = (accumulate ? dx : 0) + gradient of Infer, whose statistics do not follow from x. `out`
  // as in Gradients; where it is read, dx may be empty: dy is all that is wanted.
  virtual absl::Status BackwardInfer(const Tensor& x, const BatchNormOutput& out, const Tensor& dy,
                                     const BatchNormParameters& parameters,
                                     const RunningStatistics& running, const Tensor& dx,
                                     bool accumulate, Workspace workspace) = 0;

  // Enough for any of them.
  virtual size_t workspace_bytes() const = 0;
};

absl::StatusOr<std::unique_ptr<BatchNorm>> CreateBatchNorm(DeviceContext& context,
                                                           const BatchNormSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BATCH_NORM_H_
