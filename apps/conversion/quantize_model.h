// Quantises a model file and says what it costs.

#ifndef DTNN_APPS_CONVERSION_QUANTIZE_MODEL_H_
#define DTNN_APPS_CONVERSION_QUANTIZE_MODEL_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/conversion/quantize_flags.h"

namespace dtnn {

// Writes flags.out, and to `out` the layers that stay in float32 and why, the error of the others,
// and both networks' accuracy and speed.
absl::Status QuantizeModel(const QuantizeFlags& flags, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_QUANTIZE_MODEL_H_
