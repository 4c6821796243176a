#include "data/check_labels.h"

#include <vector>

#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status CheckLabel(const Dataset& dataset, Split split, int64_t sample, int32_t label) {
  if (label >= 0 && label < dataset.outputs()) return absl::OkStatus();
  return InvalidArgument(dataset.name(), " (", Name(split), " split): sample ", sample,
                         " has label ", label, ", but there are ", dataset.outputs(), " classes");
}

absl::Status CheckLabels(const Dataset& dataset, Split split) {
  const std::vector<int32_t> labels = dataset.labels(split);
  if (labels.empty()) return absl::OkStatus();
  if (int64_t(labels.size()) != dataset.size(split)) {
    return InvalidArgument(dataset.name(), " (", Name(split), " split): has ", labels.size(),
                           " labels for ", dataset.size(split), " samples");
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    DTNN_RETURN_IF_ERROR(CheckLabel(dataset, split, int64_t(i), labels[i]));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
