// What a run left on the disk, read back to be compared with others:
//
//   FILE.csv, FILE.jsonl      its history: every epoch
//   FILE.npz                  a checkpoint: settings, and the metrics of the last epoch
//   FILE.safetensors          a saved model, which says the same, though of fewer settings
//   a folder                  of checkpoints, of which the newest counts, and a history, or of one
//                             of them
//
// Errors name the file, and what would have been one.

#ifndef DTNN_MODELS_OBSERVE_REPORT_READ_RUN_H_
#define DTNN_MODELS_OBSERVE_REPORT_READ_RUN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "models/observe/report/comparison.h"

namespace dtnn {

// Its name is the path.
absl::StatusOr<ComparedRun> ReadRun(const std::string& path);

// A folder whose history can only be the file of that name in it. NotFound where it has neither
// that nor a checkpoint, or is not there.
absl::StatusOr<ComparedRun> ReadRun(const std::string& folder, std::string_view history);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_READ_RUN_H_
