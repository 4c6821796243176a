// Masks of image files by a network that classifies pixels: a PNG file for each, with a palette,
// whose values are classes (models/serving/predicted_mask.h).

#ifndef DTNN_APPS_PREDICT_WRITE_MASKS_H_
#define DTNN_APPS_PREDICT_WRITE_MASKS_H_

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "apps/predict/answer_writer.h"
#include "models/serving/predictor.h"

namespace dtnn {

struct MaskOptions {
  std::string folder;  // is made where it is missing
  int64_t batch = 32;
};

// The mask of <path>/<name>.<ending> is <folder>/<name>.png; one that was written so before is
// replaced. Writes an answer for each file. Returns for how many files there is no mask, because
// they cannot be read or the network's output is not finite; each is named on `errors`. A usage
// error for a network that gives no class for each pixel, for two files with one mask, and for a
// mask that would replace one of the files. FailedPrecondition where another file has the name of a
// mask; an error of the system where a mask cannot be written.
absl::StatusOr<int64_t> WriteMasks(const MaskOptions& options, Predictor& predictor,
                                   std::span<const std::string> files, AnswerWriter& writer,
                                   std::ostream& errors);

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_WRITE_MASKS_H_
