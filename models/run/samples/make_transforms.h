// The random changes of a run's training samples.

#ifndef DTNN_MODELS_RUN_SAMPLES_MAKE_TRANSFORMS_H_
#define DTNN_MODELS_RUN_SAMPLES_MAKE_TRANSFORMS_H_

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/transforms/transform.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// `transforms`, those of a program, or else data.augment.transforms; then what the two flags stand
// for that are older than it. A usage error for what does not fit the samples of `dataset`.
absl::StatusOr<TransformList> MakeTransforms(const RunOptions& options, const Dataset& dataset,
                                             TransformList transforms);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_MAKE_TRANSFORMS_H_
