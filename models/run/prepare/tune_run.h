// The fastest algorithm of every convolution of a run, before its plans are made: with
// convolution.best_of on CPUs, with device.time_cudnn where a GPU's library has several.

#ifndef DTNN_MODELS_RUN_PREPARE_TUNE_RUN_H_
#define DTNN_MODELS_RUN_PREPARE_TUNE_RUN_H_

#include "absl/status/status.h"
#include "models/run/objects/run_log.h"
#include "models/run/prepare/prepared_run.h"

namespace dtnn {

// Whether this run is to be tuned.
bool TunesRun(const PreparedRun& run);

// Sets best_of, the context's tuner, and best_of_table for CPUs: from convolution.best_of_file,
// which rank 0 reads and writes, and by timing. All ranks call it together, time at the same time,
// as they will compute, and have rank 0's decisions after it.
absl::Status TuneRun(PreparedRun& run, RunLog& log);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_TUNE_RUN_H_
