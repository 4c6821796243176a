// The names of classes that a user has written in a file, one name per line in the order of the
// labels. White space around a name does not belong to it; empty lines are allowed at the end only,
// since a name is skipped nowhere.

#ifndef DTNN_DATA_DATASETS_CLASS_LIST_H_
#define DTNN_DATA_DATASETS_CLASS_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// InvalidArgument, with the line, for a name that is not a class name (tensor/text/class_name.h) or
// appears twice.
absl::StatusOr<std::vector<std::string>> ReadClassFile(const std::string& path);
// The same of a file's text; `name` stands for the path in messages.
absl::StatusOr<std::vector<std::string>> ParseClassFile(std::string_view text,
                                                        std::string_view name);

// The names in classes.txt in `folder`, beside a data set whose format has none; none where there
// is no such file. InvalidArgument as above, and for another number of names than `classes`.
absl::StatusOr<std::vector<std::string>> ReadClassList(std::string_view folder, int64_t classes);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_CLASS_LIST_H_
