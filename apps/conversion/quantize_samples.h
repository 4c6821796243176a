// Samples as a network takes them, of a data set or of a folder of images.

#ifndef DTNN_APPS_CONVERSION_QUANTIZE_SAMPLES_H_
#define DTNN_APPS_CONVERSION_QUANTIZE_SAMPLES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "apps/conversion/quantize_flags.h"
#include "models/serving/saved_model.h"
#include "tensor/tensor.h"

namespace dtnn {

struct QuantizeSamples {
  Tensor calibration;                 // (n, sample): of the training split, evenly spread
  Tensor test;                        // of the test split; those of the folder again
  std::vector<int32_t> classes = {};  // of `test`; empty where nothing has one
};

// Usage errors name flags. InvalidArgument for data that cannot be shown as the model's training
// showed them.
absl::StatusOr<QuantizeSamples> ReadSamples(const QuantizeFlags& flags, const SavedModel& model);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_QUANTIZE_SAMPLES_H_
