// A data set with more classes than its own labels have, or with others' numbers for them: a rank
// whose labels end at 7 can take part in training for 10 classes, and a folder without images of
// one class can test a model that knows it.

#ifndef DTNN_DATA_DATASETS_MORE_CLASSES_H_
#define DTNN_DATA_DATASETS_MORE_CLASSES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace dtnn {

// `dataset` with `classes` classes; itself where it has as many. InvalidArgument for fewer than it
// has, and where targets are values.
absl::StatusOr<std::shared_ptr<const Dataset>> WithClasses(std::shared_ptr<const Dataset> dataset,
                                                           int64_t classes);

// `dataset` with the classes `names`, in that order: labels become the numbers that their names
// have there. Itself where they are the same, and where either has no names. InvalidArgument, with
// both lists, where a class of the data set is not among them; targets that are values must have
// the same names in the same order; and for labels that are not its classes (check_labels.h), which
// are an error of Read, too.
absl::StatusOr<std::shared_ptr<const Dataset>> WithClassNames(
    std::shared_ptr<const Dataset> dataset, std::span<const std::string> names);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_MORE_CLASSES_H_
