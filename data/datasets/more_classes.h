// A data set with more classes than its own labels have: a rank whose labels end at 7 can take part
// in training for 10 classes.

#ifndef DTNN_DATA_DATASETS_MORE_CLASSES_H_
#define DTNN_DATA_DATASETS_MORE_CLASSES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace dtnn {

// `dataset` with `classes` classes; itself where it has as many. InvalidArgument for fewer than it
// has, and where targets are values.
absl::StatusOr<std::shared_ptr<const Dataset>> WithClasses(std::shared_ptr<const Dataset> dataset,
                                                           int64_t classes);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_MORE_CLASSES_H_
