// What a trained network says about image files: decoded, cropped and resized to the network's
// input, normalised as in training, in batches through one evaluation plan.

#ifndef DTNN_APPS_PREDICT_RUN_H_
#define DTNN_APPS_PREDICT_RUN_H_

#include <ostream>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "apps/predict/predict_options.h"

namespace dtnn {

// `paths`: image files, and folders of them at any depth. Files that cannot be read,
// and those whose answer is NaN or infinite, are named on `errors`, the others are answered, and
// the result is not OK.
absl::Status Predict(const PredictOptions& options, std::span<const std::string> paths,
                     std::ostream& out, std::ostream& errors);

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_RUN_H_
