// The data of a client as the aggregator's network needs them: a client's own labels may lack
// classes that others have.

#ifndef DTNN_MODELS_RUN_FEDERATED_FIT_CLASSES_H_
#define DTNN_MODELS_RUN_FEDERATED_FIT_CLASSES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/federation/messages.h"
#include "data/dataset.h"

namespace dtnn {

// Classes that have names get the numbers that the aggregator has for them; those that are counted
// from labels become as many as the aggregator's. InvalidArgument, with both lists or numbers, for
// data that do not fit.
absl::StatusOr<std::shared_ptr<const Dataset>> FitClasses(std::shared_ptr<const Dataset> dataset,
                                                          const federation::Classes& classes);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_FIT_CLASSES_H_
