#include "optim/metrics/precision_recall.h"

#include "absl/strings/str_format.h"

namespace dtnn {

std::string Precision::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%sprec: %.4f", std::string(prefix), value);
}

std::string Recall::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%srec: %.4f", std::string(prefix), value);
}

std::string F1Score::Format(std::string_view prefix, double value) const {
  return absl::StrFormat("%sf1: %.4f", std::string(prefix), value);
}

}  // namespace dtnn
