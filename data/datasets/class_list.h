// The names of classes that a user has written beside the files of a data set whose format has
// none: classes.txt, one name per line in the order of the labels.

#ifndef DTNN_DATA_DATASETS_CLASS_LIST_H_
#define DTNN_DATA_DATASETS_CLASS_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Those of `folder`; none where it has no such file. InvalidArgument for another number of names
// than `classes`, for names that are empty, twice there or longer than 200 bytes, and for control
// characters.
absl::StatusOr<std::vector<std::string>> ReadClassList(std::string_view folder, int64_t classes);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_CLASS_LIST_H_
