#include "optim/metrics/binary_accuracy.h"

#include "absl/strings/str_format.h"

namespace dtnn {

std::string BinaryAccuracy::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%sacc: %5.2f%%", std::string(prefix), value);
}

}  // namespace dtnn
