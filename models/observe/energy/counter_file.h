// Small files of the system that hold a number or a word.

#ifndef DTNN_MODELS_OBSERVE_ENERGY_COUNTER_FILE_H_
#define DTNN_MODELS_OBSERVE_ENERGY_COUNTER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// The first line, without its end.
absl::StatusOr<std::string> ReadWord(const std::string& path);
// DataLoss for a text that is not a whole number from 0 on.
absl::StatusOr<int64_t> ReadCount(const std::string& path);
// The paths of what is in a folder and begins with `prefix`, sorted; empty where there is no
// folder.
std::vector<std::string> EntriesOf(const std::string& folder, const std::string& prefix);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_ENERGY_COUNTER_FILE_H_
