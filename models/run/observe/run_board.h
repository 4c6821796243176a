// What a run writes for TensorBoard, output.tensorboard, besides what training tells
// (models/observe/tensorboard).

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_BOARD_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_BOARD_H_

#include "absl/status/status.h"
#include "models/observe/tensorboard/tensorboard_writer.h"
#include "models/run/observe/run_subject.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Whether the files can be written: a run of hours must not find out later.
absl::Status CheckBoard(const RunOptions& options);

// Hyperparameters are the options that were given, and those that most runs differ in; the text has
// all. The caller adds where warnings go.
TensorboardOptions MakeTensorboardOptions(const RunSubject& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_BOARD_H_
