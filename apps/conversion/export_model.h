// Writes a model as ONNX.

#ifndef DTNN_APPS_CONVERSION_EXPORT_MODEL_H_
#define DTNN_APPS_CONVERSION_EXPORT_MODEL_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

struct ExportFlags {
  std::string model = {};  // a file, or the name of a network of the zoo: with initial weights
  std::string out = {};
  std::string format = "NCHW";     // of images: or NHWC
  std::string math_mode = "fp32";  // or int8
};

// Bound to its members, all but `model` and `out`.
std::vector<OptionSpec> OptionsOf(ExportFlags& options);

// Says in `out` what it wrote.
absl::Status ExportToOnnx(const ExportFlags& flags, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_EXPORT_MODEL_H_
