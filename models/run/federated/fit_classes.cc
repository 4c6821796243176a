#include "models/run/federated/fit_classes.h"

#include <cstdint>
#include <utility>

#include "data/datasets/more_classes.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Dataset>> FitClasses(std::shared_ptr<const Dataset> dataset,
                                                          const federation::Classes& classes) {
  if (classes.outputs == 0) return dataset;
  absl::StatusOr<std::shared_ptr<const Dataset>> named = WithClassNames(dataset, classes.names);
  if (!named.ok()) {
    return InvalidArgument(named.status().message(), ", the aggregator's; a client may lack some ",
                           "of these, but has no others");
  }
  const int64_t own = (*named)->outputs(), outputs = classes.outputs;
  if (own == outputs) return named;
  const bool of_classes = dataset->target_kind() == TargetKind::kClass;
  if (own < outputs && of_classes && dataset->counts_classes()) {
    return WithClasses(*std::move(named), outputs);
  }
  if (own < outputs && of_classes && !dataset->class_names().empty()) {
    return InvalidArgument("data set ", dataset->name(), " has ", own, " of the aggregator's ",
                           outputs, " classes, and the aggregator does not know their names, so ",
                           "it cannot match them: start it with --class-names=FILE");
  }
  return InvalidArgument("data set ", dataset->name(), " has ", own,
                         of_classes ? " classes" : " values per sample",
                         ", the aggregator's network ", outputs, " outputs: start it with ",
                         "--num-classes=", own, ", or use the data that it is for");
}

}  // namespace dtnn
