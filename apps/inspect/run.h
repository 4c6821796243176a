// What is in files of models, weights and checkpoints (models/serving/saved_model.h,
// models/parameters/weights.h, models/checkpoint/checkpoint.h): tags, the network and how it was
// trained, every array with its shape, dtype and range of values, and of a checkpoint where its run
// stands.

#ifndef DTNN_APPS_INSPECT_RUN_H_
#define DTNN_APPS_INSPECT_RUN_H_

#include <ostream>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace dtnn {

// `format`: "text", or "json" for one object per line and file. Memory: the largest array of a
// file. Files that cannot be read are named on `errors` and the others printed all the same; then
// the result is not OK. Usage errors for no files and for another format.
absl::Status InspectFiles(std::span<const std::string> files, const std::string& format,
                          std::ostream& out, std::ostream& errors);

}  // namespace dtnn

#endif  // DTNN_APPS_INSPECT_RUN_H_
