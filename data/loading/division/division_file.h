// A division of samples as a file: a line per client (division.h). Read without trust.

#ifndef DTNN_DATA_LOADING_DIVISION_DIVISION_FILE_H_
#define DTNN_DATA_LOADING_DIVISION_DIVISION_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// The samples of each line of `text`, ascending. `name`: of the file, for messages.
// InvalidArgument, with the line, for what is not the number of one of `n` samples, and for a
// sample that is there twice; for another number of lines than `parts`.
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseDivisionFile(std::string_view text,
                                                                    const std::string& name,
                                                                    int64_t n, int64_t parts);

absl::StatusOr<std::vector<std::vector<int64_t>>> ReadDivisionFile(const std::string& path,
                                                                   int64_t n, int64_t parts);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_DIVISION_DIVISION_FILE_H_
